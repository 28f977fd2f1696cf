"""Trains a small CNN on MNIST and exports it: train_mnist.py DIRECTORY_OF_MNIST MODEL.onnx"""
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, transforms


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3, padding=1)
        self.conv2 = nn.Conv2d(32, 64, 3, padding=1)
        self.fc = nn.Linear(64 * 7 * 7, 10)

    def forward(self, x):
        x = nn.functional.max_pool2d(torch.relu(self.conv1(x)), 2)
        x = nn.functional.max_pool2d(torch.relu(self.conv2(x)), 2)
        return self.fc(x.flatten(1))


def main():
    train = datasets.MNIST(sys.argv[1], train=True, transform=transforms.ToTensor())
    test = datasets.MNIST(sys.argv[1], train=False, transform=transforms.ToTensor())
    model = Cnn()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(3):
        model.train()
        for image, label in DataLoader(train, batch_size=64, shuffle=True, drop_last=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(image), label).backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            right = sum((model(image).argmax(1) == label).sum().item() for image, label in DataLoader(test, batch_size=64))
        print(f"epoch {epoch + 1}: accuracy {right / len(test):.4f}")
    image = torch.zeros(1, 1, 28, 28)
    torch.onnx.export(model, (image,), sys.argv[2], input_names=["image"], output_names=["logits"],
                      dynamic_shapes=({0: "batch"},))


if __name__ == "__main__":
    main()
