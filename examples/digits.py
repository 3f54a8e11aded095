"""Train a small convolutional network on scikit-learn's 1,797 handwritten digits and look at what it learned.

    python -m flambeau run examples/digits.py        # flambeau
    python examples/digits.py                        # PyTorch: the same file, the same losses

Writes digits.pt (a checkpoint) and digits.png (curves, confusion matrix, misread digits) to the working folder.

The arithmetic is float64 by default: single precision rounds differently in every library (and at every thread count,
in some), and a few hundred steps of training turn the seventh digit of a number into its second.
"""

import argparse
import math
import sys
import time

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

TEST_IMAGES = 360
PEAK_LEARNING_RATE = 0.05


def load_data():
    """Return (train, test) datasets of 1×8×8 images in [0, 1] and their labels, split at random."""
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.get_default_dtype()).unsqueeze(1) / 16
    labels = torch.tensor(digits.target)
    order = torch.randperm(len(images))
    test, train = order[:TEST_IMAGES], order[TEST_IMAGES:]
    return TensorDataset(images[train], labels[train]), TensorDataset(images[test], labels[test])


def make_network(width=16):
    def block(inputs, outputs):
        return [nn.Conv2d(inputs, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.ReLU()]

    return nn.Sequential(
        *block(1, width),
        *block(width, width),
        nn.MaxPool2d(2),
        *block(width, 2 * width),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(2 * width * 2 * 2, 10),
    )


def shifted(images):
    """Move each image by at most a pixel in both directions: the same digit, written elsewhere."""
    count, _, height, width = images.shape
    top, left = torch.randint(0, 3, (2, count, 1))
    rows = (top + torch.arange(height)).unsqueeze(2)
    columns = (left + torch.arange(width)).unsqueeze(1)
    picture = torch.arange(count).view(count, 1, 1)
    return F.pad(images, (1, 1, 1, 1))[picture, 0, rows, columns].unsqueeze(1)


def learning_rate(step, steps):
    """Rise over the first tenth of training, then fall to nothing along a cosine."""
    warmup = steps // 10
    if step < warmup:
        return PEAK_LEARNING_RATE * (step + 1) / warmup
    return PEAK_LEARNING_RATE * (1 + math.cos(math.pi * (step - warmup) / (steps - warmup))) / 2


class Progress:
    """A bar on the terminal: tqdm's where it is installed, a plain one elsewhere, none into a file."""

    def __init__(self, steps):
        self.steps, self.step, self.bar = steps, 0, None
        self.shown = sys.stderr.isatty()
        if self.shown:
            try:
                from tqdm import tqdm
            except ImportError:
                return
            self.bar = tqdm(total=steps, unit="step", leave=False)

    def advance(self, text):
        self.step += 1
        if self.bar is not None:
            self.bar.set_postfix_str(text)
            self.bar.update()
        elif self.shown:
            filled = 30 * self.step // self.steps
            bar = "#" * filled + "." * (30 - filled)
            print(f"\r[{bar}] {self.step}/{self.steps} {text} ", end="", file=sys.stderr, flush=True)

    def line(self, text):
        """Print a line that stays, above the bar."""
        if self.bar is not None:
            self.bar.write(text)
            return
        if self.shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
        print(text, flush=True)

    def close(self):
        if self.bar is not None:
            self.bar.close()


@torch.no_grad()
def evaluate(network, dataset):
    """Return the probabilities of the ten digits for each image, and the mean loss."""
    network.eval()
    images, labels = dataset.tensors
    scores = network(images)
    network.train()
    return scores.softmax(dim=1), F.cross_entropy(scores, labels).item()


def accuracy(probabilities, labels):
    return (probabilities.argmax(dim=1) == labels).double().mean().item()


def train(network, train_set, test_set, epochs, batch_size):
    """Train with SGD and return one record of losses and accuracies an epoch."""
    loader = DataLoader(train_set, batch_size=batch_size, shuffle=True)
    optimizer = torch.optim.SGD(network.parameters(), lr=PEAK_LEARNING_RATE, momentum=0.9, nesterov=True)
    steps = epochs * len(loader)
    progress = Progress(steps)
    history = []
    for epoch in range(1, epochs + 1):
        total, correct = 0.0, 0
        for images, labels in loader:
            for group in optimizer.param_groups:
                group["lr"] = learning_rate(progress.step, steps)
            scores = network(shifted(images))
            loss = F.cross_entropy(scores, labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item() * len(labels)
            correct += (scores.argmax(dim=1) == labels).sum().item()
            progress.advance(f"loss {loss.item():.3f}")
        probabilities, test_loss = evaluate(network, test_set)
        record = {
            "loss": total / len(train_set),
            "accuracy": correct / len(train_set),
            "test_loss": test_loss,
            "test_accuracy": accuracy(probabilities, test_set.tensors[1]),
        }
        history.append(record)
        progress.line(
            f"epoch {epoch:2d}/{epochs}   loss {record['loss']:.4f}   accuracy {record['accuracy']:7.2%}   "
            f"test loss {record['test_loss']:.4f}   test accuracy {record['test_accuracy']:7.2%}"
        )
    progress.close()
    return history


def draw(path, history, dataset, probabilities):
    """Draw the curves, the confusion matrix and the least certain or misread digits of the test set."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    images, labels = dataset.tensors
    guesses = probabilities.argmax(dim=1)
    figure = pyplot.figure(figsize=(13, 7.5), layout="constrained")
    upper, lower = figure.subfigures(2, 1, height_ratios=[1.7, 1])

    losses, accuracies, confusion = upper.subplots(1, 3)
    epochs = range(1, len(history) + 1)
    losses.semilogy(epochs, [record["loss"] for record in history], label="training (shifted images)")
    losses.semilogy(epochs, [record["test_loss"] for record in history], label="test")
    losses.set(title="Loss", xlabel="epoch", ylabel="cross-entropy")
    accuracies.plot(epochs, [100 * record["accuracy"] for record in history], label="training (shifted images)")
    accuracies.plot(epochs, [100 * record["test_accuracy"] for record in history], label="test")
    accuracies.set(title="Accuracy", xlabel="epoch", ylabel="%", ylim=(80, 100.5))
    for axes in (losses, accuracies):
        axes.grid(alpha=0.3)
        axes.legend()

    table = torch.bincount(labels * 10 + guesses, minlength=100).view(10, 10).tolist()
    # Rightly read digits pale green, mistakes red.
    shades = [
        [0.25 if row == column else -count / 3 for column, count in enumerate(counts)]
        for row, counts in enumerate(table)
    ]
    confusion.imshow(shades, cmap="PiYG", vmin=-1, vmax=1)
    for row, counts in enumerate(table):
        for column, count in enumerate(counts):
            if count:
                confusion.text(column, row, str(count), ha="center", va="center", fontsize=9)
    confusion.set(title="Test images by digit", xlabel="read as", ylabel="is", xticks=range(10), yticks=range(10))

    # Misread digits first, then those read rightly with the least probability.
    certainty = probabilities[torch.arange(len(labels)), labels] + (guesses == labels)
    wrong = int((guesses != labels).sum())
    lower.suptitle(f"Of {len(labels)} test images {wrong} are misread (red); after them the least certain ones")
    for axes, index in zip(lower.subplots(1, 8), certainty.argsort()[:8].tolist(), strict=True):
        axes.imshow(images[index, 0].tolist(), cmap="gray_r")
        axes.set(xticks=[], yticks=[])
        chances, digits = probabilities[index].topk(3)
        text = "\n".join(
            f"{digit}: {chance:.1%}" for digit, chance in zip(digits.tolist(), chances.tolist(), strict=True)
        )
        right = guesses[index] == labels[index]
        axes.set_title(f"is {int(labels[index])}", color="black" if right else "firebrick")
        axes.set_xlabel(text, color="black" if right else "firebrick")
    figure.savefig(path, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--float32", action="store_true", help="single precision: losses differ between libraries")
    arguments = parser.parse_args()

    started = time.perf_counter()
    torch.set_default_dtype(torch.float32 if arguments.float32 else torch.float64)
    torch.manual_seed(arguments.seed)
    train_set, test_set = load_data()
    network = make_network()
    parameters = sum(parameter.numel() for parameter in network.parameters())
    print(f"{len(train_set)} images to train on, {len(test_set)} to test with; a network of {parameters:,} parameters")
    history = train(network, train_set, test_set, arguments.epochs, arguments.batch_size)

    torch.save({"network": network.state_dict(), "history": history, "seed": arguments.seed}, "digits.pt")
    restored = make_network()
    restored.load_state_dict(torch.load("digits.pt")["network"])
    labels = test_set.tensors[1]
    probabilities, _ = evaluate(restored, test_set)
    wrong = int((probabilities.argmax(dim=1) != labels).sum())
    print(f"test accuracy {accuracy(probabilities, labels):.2%}: {wrong} of {len(labels)} misread")
    print(f"{time.perf_counter() - started:.1f} s; the network is in digits.pt", end="")
    try:
        draw("digits.png", history, test_set, probabilities)
    except ImportError:
        print("; no picture, since matplotlib is not installed")
    else:
        print(", the curves and the misread digits in digits.png")


if __name__ == "__main__":
    main()
