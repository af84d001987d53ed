"""Files of rankings and of pairwise votes: a reader and a writer for each family of formats."""
