"""An executor that runs tasks in the reverse order."""

from distkern import Executor


class Backwards(Executor):
    """Runs the tasks in this thread, the last one first, and counts them; each may use ``memory`` bytes."""

    def __init__(self, memory=2**40, workers=1):
        self.tasks, self.memory, self.workers = 0, memory, workers

    def map(self, fn, tasks):
        tasks = list(tasks)
        self.tasks += len(tasks)
        yield from map(fn, reversed(tasks))

    def memory_per_task(self, limit):
        return self.memory
