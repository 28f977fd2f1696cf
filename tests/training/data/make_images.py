#!/usr/bin/env python3
"""An image and what torchvision makes of it, for pixels_test, and image files by Pillow, for images_test. Run by the Python
of `scripts/peers torch`: make_images.py."""
import os
import tarfile

import numpy as np
import torch
import torchvision.transforms.functional as F
from PIL import Image

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "images")
rng = np.random.default_rng(7)
y, x = np.mgrid[0:19, 0:26]
smooth = np.stack([127 + 100 * np.sin(x / 3 + y / 5), 127 + 120 * np.cos(y / 4), 5 * x + 6 * y], -1)
pixels = np.clip(smooth + rng.normal(0, 15, smooth.shape), 0, 255).astype(np.uint8)
pixels[0, :5] = [[0, 0, 0], [255, 255, 255], [90, 90, 90], [255, 0, 0], [0, 0, 255]]
image = torch.from_numpy(pixels).permute(2, 0, 1)

results = {
    "pixels": image,
    "brightness": F.adjust_brightness(image, 1.4),
    "contrast": F.adjust_contrast(image, 0.45),
    "saturation": F.adjust_saturation(image, 1.8),
    "hue": F.adjust_hue(image, 0.3),
    "hue_negative": F.adjust_hue(image, -0.15),
    "smaller": F.resize(image, [7, 11], antialias=True),
    "larger": F.resize(image, [31, 40], antialias=True),
    "mixed": F.resize(image, [40, 9], antialias=True),
    "center": F.center_crop(image, [8, 11]),
    "center_padded": F.center_crop(image, [24, 9]),
    "padded_crop": F.crop(F.pad(image, 4), 2, 21, 16, 13),
    "gray": torch.from_numpy(np.array(Image.fromarray(pixels).convert("L")))[None],
    "normalized": F.normalize(F.to_tensor(Image.fromarray(pixels)), [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
}
np.savez_compressed(os.path.join(HERE, "pixels.npz"), **{name: value.numpy() for name, value in results.items()})

# Angle, translation, scale and shear, of images as ImageFolder reads them.
MOTIONS = {"turned": (37, (0, 0), 1, (0, 0)), "moved": (-11, (3, -2), 0.8, (0, 0)), "sheared": (5, (0, 1), 1.3, (12, -7))}
np.savez_compressed(os.path.join(HERE, "affine.npz"), **{
    f"{name}_{mode.value}": np.array(F.affine(Image.fromarray(pixels), *motion, interpolation=mode)).transpose(2, 0, 1)
    for name, motion in MOTIONS.items() for mode in (F.InterpolationMode.NEAREST, F.InterpolationMode.BILINEAR)})


def plain(entry):
    entry.mtime, entry.uid, entry.gid, entry.uname, entry.gname = 0, 0, 0, "", ""
    return entry


for name in ("cat", "dog"):
    os.makedirs(os.path.join(HERE, "folders", name, "more"), exist_ok=True)
Image.fromarray(pixels).save(os.path.join(HERE, "folders/cat/a.png"))
Image.fromarray(pixels).save(os.path.join(HERE, "folders/dog/b.jpg"), quality=90)
Image.fromarray(pixels[:, :, 0]).save(os.path.join(HERE, "folders/dog/more/gray.png"))
for name in ("cat", "dog"):
    if not os.listdir(os.path.join(HERE, "folders", name, "more")):
        os.rmdir(os.path.join(HERE, "folders", name, "more"))
decoded = {"cat/a.png": pixels, "dog/b.jpg": np.array(Image.open(os.path.join(HERE, "folders/dog/b.jpg"))),
           "dog/more/gray.png": np.repeat(pixels[:, :, :1], 3, 2)}
np.savez_compressed(os.path.join(HERE, "decoded.npz"), **decoded)

# The same files in archives, and one whose path needs an extension of the format.
for name, kind in (("gnu.tar", tarfile.GNU_FORMAT), ("pax.tar.gz", tarfile.PAX_FORMAT)):
    with tarfile.open(os.path.join(HERE, name), "w:gz" if name.endswith("gz") else "w", format=kind) as archive:
        for folder, _, files in sorted(os.walk(os.path.join(HERE, "folders"))):
            for file in sorted(files):
                inside = os.path.join("some", os.path.relpath(folder, HERE), file)
                archive.add(os.path.join(folder, file), "./" + inside, filter=plain)
        archive.add(os.path.join(HERE, "folders/cat/a.png"), "some/folders/zebra/" + "long" * 40 + "/a.png", filter=plain)
