"""Fine-tunes a ResNet-18 on folders of images, one per class, with a new head in place of its old one:
finetune.py STATE_DICT.pt DIRECTORY_OF_TRAIN_AND_TEST TUNED.onnx"""
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets, models, transforms


def main():
    state_dict, images, path = sys.argv[1:]
    transform = transforms.Compose([
        transforms.Resize((224, 224)),
        transforms.ToTensor(),
        transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ])
    train = datasets.ImageFolder(f"{images}/train", transform)
    test = datasets.ImageFolder(f"{images}/test", transform)
    model = models.resnet18()
    model.load_state_dict(torch.load(state_dict))
    model.requires_grad_(False)
    model.fc = nn.Linear(model.fc.in_features, len(train.classes))
    model.eval()
    optimizer = torch.optim.SGD(model.fc.parameters(), lr=0.01, momentum=0.9)
    for epoch in range(3):
        for image, label in DataLoader(train, batch_size=16, shuffle=True, drop_last=True):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(image), label).backward()
            optimizer.step()
        right = 0
        with torch.no_grad():
            for image, label in DataLoader(test, batch_size=16):
                right += (model(image).argmax(1) == label).sum().item()
        print(f"epoch {epoch + 1}: accuracy {right / len(test):.4f}")
    image = torch.zeros(1, 3, 224, 224)
    torch.onnx.export(model, (image,), path, input_names=["image"], output_names=["head"], dynamic_shapes=({0: "batch"},))


if __name__ == "__main__":
    main()
