"""What the tests of process grids share: grids as texts (data x tensor x pipeline), and runs on them."""

from harness import RunTest

INVARIANT = {"numerics": {"grid_invariant": True}}

# One of each kind; a prime number of them, see `walk`.
GRIDS = ("1x1x1", "2x1x1", "1x2x1", "1x1x2", "4x1x1", "1x4x1", "1x1x4", "2x2x1", "2x1x2", "1x2x2", "2x2x2")
# For models that no four ranks can slice, but five can hold in stages.
ODD_GRIDS = tuple("1x1x5" if grid == "1x4x1" else grid for grid in GRIDS)


def size_of(grid):
    data, tensor, pipeline = map(int, grid.split("x"))
    return data * tensor * pipeline


def on_grid(grid):
    """The words that put a deck on a grid."""
    return [f"grid.{axis}={extent}" for axis, extent in zip(("data", "tensor", "pipeline"), grid.split("x"), strict=True)]


def walk(grids, strides):
    """A closed walk that meets every pair of grids that stand a stride apart. With all strides from 1 to one below the
    number of grids, a prime, each ordered pair is met exactly once."""
    return [grids[0]] + [grids[i * stride % len(grids)] for stride in strides for i in range(1, len(grids) + 1)]


class GridTest(RunTest):
    def train(self, deck, grid, name, *words, **kwargs):
        """Runs the deck on a grid in the run folder `name`; returns the folder."""
        self.ok(self.start_or_go_on(deck, grid, name, *words, **kwargs))
        return self.folder / name

    def start_or_go_on(self, deck, grid, name, *words, **kwargs):
        return self.trireme("train", deck, f"run.output={name}", *on_grid(grid), *words, ranks=size_of(grid), **kwargs)

    def assert_all_same(self, deck, grids, *words, name="run"):
        """Metrics and checkpoints of all grids are those of one rank, bit for bit."""
        one = self.train(deck, "1x1x1", f"{name}_1x1x1", *words)
        for grid in grids:
            with self.subTest(grid=grid, words=words):
                self.assert_same_run(one, self.train(deck, grid, f"{name}_{grid}", *words))
        return one

    def assert_all_close(self, deck, grids, *words, name="run", relative=1e-5):
        """Losses and norms of all grids are near those of one rank."""
        one = self.train(deck, "1x1x1", f"{name}_1x1x1", *words)
        for grid in grids:
            with self.subTest(grid=grid, words=words):
                self.assert_close(one, self.train(deck, grid, f"{name}_{grid}", *words), relative)
        return one
