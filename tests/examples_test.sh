#!/usr/bin/env bash
# Runs the example programs that train, fine-tune and generate, on small data made here.
# Usage: examples_test.sh SOURCE_DIR DIRECTORY_OF_THE_PROGRAMS ONWARD
set -euo pipefail
source=$1 programs=$2 onward=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# Images of noise with a bright row pair where the label is.
python3 - <<'PY'
import random
import struct
random.seed(1)
for name, count in ("train", 640), ("t10k", 64):
    labels = bytes(i % 10 for i in range(count))
    pixels = bytes(random.randrange(60) + (180 if y // 2 == label else 0) for label in labels for y in range(28) for _ in range(28))
    with open(f"{name}-images-idx3-ubyte.gz", "wb") as file:
        file.write(struct.pack(">4I", 0x803, count, 28, 28) + pixels)
    with open(f"{name}-labels-idx1-ubyte.gz", "wb") as file:
        file.write(struct.pack(">2I", 0x801, count) + labels)
PY
"$programs/train_mnist" . cnn.onnx | tee log
[ "$(grep -c accuracy log)" = 3 ]
tail -1 log | grep -E 'accuracy (1\.0|0\.9)'
"$onward" inspect cnn.onnx >/dev/null

# Even and odd digits, for a ResNet-18 that knows nothing yet.
for digit in 0 1 2 3 4 5 6 7 8 9; do
  for copy in 1 2; do
    for part in train test; do
      folder=images/$part/$([ $((digit % 2)) = 0 ] && echo even || echo odd)
      mkdir -p "$folder"
      cp "$source/examples/mnist/digits/$digit.png" "$folder/$digit-$copy.png"
    done
  done
done
cat >resnet.textproto <<'CONFIG'
built { name: "resnet18" }
loss { cross_entropy {} }
optimizer { sgd { lr: 0.1 } }
data { images { directory: "images/train" step { resize { height: 224 width: 224 } } } }
batch_size: 1
steps: 0
CONFIG
"$onward" train resnet.textproto --output-dir resnet 2>/dev/null
"$programs/finetune" resnet/model.onnx Reshape images tuned.onnx | tee log
[ "$(grep -c accuracy log)" = 3 ]
"$onward" inspect tuned.onnx | grep -q 'head'

# A GPT that has seen a licence for a moment.
cp "$source/LICENSE" input.txt
"$onward" train "$source/examples/chargpt/train.textproto" --data-dir . --output-dir gpt --set steps=2 --set evaluation= --set schedule= \
  --set built.options.layers=1 --set "built.options.vocabulary=$(python3 -c 'print(len(set(open("input.txt").read())))')" 2>/dev/null
"$programs/continue_text" gpt/model.onnx gpt/vocabulary.txt 'the License' >text
[ "$(python3 -c 'print(len(open("text").read()))')" = 201 ]
! "$programs/continue_text" gpt/model.onnx 2>error
grep -q 'needs MODEL' error
