"""How a stored Gram matrix comes about: validate samples, plan, choose landmarks, run tasks, append, repair."""
