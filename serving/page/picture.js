// An input that may be a picture: a pad to draw on or to drop an image on, and the numbers of it.

import { element } from "./elements.js";

const varyingSide = 224;

// { channels, height, width, last } of inputs of shape [n, 1|3, h, w] or [n, h, w, 1|3] (`last`);
// null: it is something else.
export function pictureOf(input) {
  const { shape, datatype } = input;
  if (shape.length !== 4 || shape[0] > 1 || datatype === "BYTES" || datatype === "BOOL") return null;
  const side = (dim) => (dim < 0 ? varyingSide : dim);
  const fits = (channels, height, width) =>
    (channels === 1 || channels === 3) && (height < 0 || height >= 8) && (width < 0 || width >= 8);
  if (fits(shape[1], shape[2], shape[3])) {
    return { channels: shape[1], height: side(shape[2]), width: side(shape[3]), last: false };
  }
  if (fits(shape[3], shape[1], shape[2])) {
    return { channels: shape[3], height: side(shape[1]), width: side(shape[2]), last: true };
  }
  return null;
}

const scales = {
  "0..1": (value) => value / 255,
  "0..255": (value) => value,
  "-1..1": (value) => value / 127.5 - 1,
  "ImageNet mean and deviation": (value, channel) =>
    (value / 255 - [0.485, 0.456, 0.406][channel]) / [0.229, 0.224, 0.225][channel],
};

function usualScale(picture, datatype) {
  if (!datatype.startsWith("FP") && datatype !== "BF16") return "0..255";
  return picture.channels === 3 ? "ImageNet mean and deviation" : "0..255";
}

// The elements of the input's field, and `read`, which gives { shape, data } for a request.
export function makePicture(input, picture) {
  const pad = element("canvas", { class: "pad" });
  pad.width = 560;
  pad.height = Math.max(56, Math.round((560 * picture.height) / picture.width));
  pad.setAttribute("aria-label", `${input.name}: draw, or drop an image`);
  const seen = element("canvas", { class: "seen" });
  seen.width = picture.width;
  seen.height = picture.height;
  const scale = element("select");
  for (const name of Object.keys(scales)) scale.append(element("option", { value: name, textContent: name }));
  scale.value = usualScale(picture, input.datatype);
  const dark = element("input", { type: "checkbox", checked: true });
  const file = element("input", { type: "file", accept: "image/*" });
  const clear = element("button", { type: "button", textContent: "Clear" });
  const look = () => {
    const context = seen.getContext("2d");
    context.imageSmoothingQuality = "high";
    context.drawImage(pad, 0, 0, picture.width, picture.height);
  };
  const wipe = () => {
    const context = pad.getContext("2d");
    context.fillStyle = dark.checked ? "#000" : "#fff";
    context.fillRect(0, 0, pad.width, pad.height);
    look();
  };
  const take = (image) => drawImage(pad, image).then(look);
  drawByPointer(pad, () => (dark.checked ? "#fff" : "#000"), look);
  dropImages(pad, take);
  file.onchange = () => file.files.length > 0 && take(file.files[0]);
  clear.onclick = wipe;
  dark.onchange = wipe;
  wipe();
  const controls = element(
    "div",
    {},
    element("div", { class: "row" }, element("label", {}, "Values ", scale), clear),
    element("div", { class: "row" }, element("label", {}, dark, "white on black")),
    element("div", { class: "row" }, element("label", {}, "Image ", file)),
    element("p", { class: "quiet", textContent: `Draw, or drop an image. The model sees ${picture.width} × ${picture.height}:` }),
    seen,
  );
  const read = () => tensorOf(seen, picture, scales[scale.value], input.datatype);
  return { field: element("div", { class: "picture" }, pad, controls), read };
}

function drawByPointer(pad, ink, onChange) {
  let last = null;
  const place = (event) => {
    const box = pad.getBoundingClientRect();
    return [((event.clientX - box.left) * pad.width) / box.width, ((event.clientY - box.top) * pad.height) / box.height];
  };
  const stroke = (to) => {
    const context = pad.getContext("2d");
    context.strokeStyle = ink();
    context.lineWidth = Math.min(pad.width, pad.height) / 12;
    context.lineCap = context.lineJoin = "round";
    context.beginPath();
    context.moveTo(...last);
    context.lineTo(...to);
    context.stroke();
    last = to;
    onChange();
  };
  pad.onpointerdown = (event) => {
    pad.setPointerCapture(event.pointerId);
    last = place(event);
    stroke(last);
  };
  pad.onpointermove = (event) => last && stroke(place(event));
  pad.onpointerup = pad.onpointercancel = () => {
    last = null;
  };
}

function dropImages(pad, take) {
  pad.ondragover = (event) => {
    event.preventDefault();
    pad.classList.add("over");
  };
  pad.ondragleave = () => pad.classList.remove("over");
  pad.ondrop = (event) => {
    event.preventDefault();
    pad.classList.remove("over");
    if (event.dataTransfer.files.length > 0) take(event.dataTransfer.files[0]);
  };
}

// The middle of the image that has the pad's proportions.
async function drawImage(pad, file) {
  const image = await createImageBitmap(file);
  const factor = Math.max(pad.width / image.width, pad.height / image.height);
  const width = image.width * factor;
  const height = image.height * factor;
  const context = pad.getContext("2d");
  context.imageSmoothingQuality = "high";
  context.drawImage(image, (pad.width - width) / 2, (pad.height - height) / 2, width, height);
  image.close();
}

function tensorOf(canvas, picture, scale, datatype) {
  const { channels, height, width, last } = picture;
  const pixels = canvas.getContext("2d").getImageData(0, 0, width, height).data;
  const whole = !datatype.startsWith("FP") && datatype !== "BF16";
  const values = [];
  const value = (pixel, channel) => {
    const [red, green, blue] = pixels.subarray(pixel * 4, pixel * 4 + 3);
    const level = channels === 3 ? [red, green, blue][channel] : 0.299 * red + 0.587 * green + 0.114 * blue;
    const scaled = scale(level, channel);
    values.push(whole ? Math.round(scaled) : Number(scaled.toPrecision(6)));
  };
  const count = width * height;
  if (last) {
    for (let pixel = 0; pixel < count; ++pixel) for (let channel = 0; channel < channels; ++channel) value(pixel, channel);
    return { shape: [1, height, width, channels], data: values.join(",") };
  }
  for (let channel = 0; channel < channels; ++channel) for (let pixel = 0; pixel < count; ++pixel) value(pixel, channel);
  return { shape: [1, channels, height, width], data: values.join(",") };
}
