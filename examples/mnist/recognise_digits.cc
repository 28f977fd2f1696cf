// Recognises handwritten digits: recognise_digits MODEL IMAGE.png...
// Draws each image in the terminal beside the predicted digit and its probability.
#include <onward/read_image.h>
#include <onward/session.h>
#include <onward/status.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

namespace {

constexpr int kSide = 28;

// Two pixel rows per line of text, whose mean brightness picks one of five shades.
void Draw(const onward::Tensor& pixels, const std::string& caption) {
  static constexpr const char* kShades[] = {" ", "░", "▒", "▓", "█"};
  for (int y = 0; y < kSide; y += 2) {
    std::printf("    ");
    for (int x = 0; x < kSide; ++x) {
      const int upper = pixels.data<uint8_t>()[y * kSide + x];
      const int lower = pixels.data<uint8_t>()[(y + 1) * kSide + x];
      std::printf("%s", kShades[std::min(4, (upper + lower + 50) / 110)]);
    }
    std::printf("%s\n", y == kSide / 2 ? caption.c_str() : "");
  }
}

// The probability of the most likely class, by softmax.
std::pair<int, double> MostLikely(const onward::Tensor& scores) {
  const absl::Span<const float> values = scores.span<float>();
  const auto best = std::max_element(values.begin(), values.end());
  double sum = 0;
  for (float value : values) sum += std::exp(value - *best);
  return {static_cast<int>(best - values.begin()), 1 / sum};
}

absl::Status Recognise(const std::string& model, const std::vector<std::string>& images) {
  ONWARD_ASSIGN_OR_RETURN(const auto session, onward::Session::Load(model));
  int correct = 0;
  for (const std::string& path : images) {
    ONWARD_ASSIGN_OR_RETURN(const onward::Tensor pixels, onward::ReadImage(path, /*gray=*/true));
    if (pixels.num_elements() != kSide * kSide) {
      return absl::InvalidArgumentError("'" + path + "' is not an image of 28 x 28 pixels");
    }
    onward::Tensor input(onward::DType::kFloat32, {1, 1, kSide, kSide});
    std::copy_n(pixels.data<uint8_t>(), pixels.num_elements(), input.mutable_data<float>());
    ONWARD_ASSIGN_OR_RETURN(const auto outputs, session->Run({{session->inputs()[0].name, input}}));
    const auto [digit, probability] = MostLikely(outputs.begin()->second.tensor());
    char caption[64];
    std::snprintf(caption, sizeof(caption), "  %d  (%.1f %%)", digit, 100 * probability);
    Draw(pixels, caption);
    const std::string name = path.substr(path.find_last_of('/') + 1);
    correct += name == std::to_string(digit) + ".png";
  }
  std::printf("\n%d of %zu digits are what their file name says\n", correct, images.size());
  return absl::OkStatus();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr, "usage: recognise_digits MODEL IMAGE.png...\n");
    return 2;
  }
  const absl::Status status = Recognise(argv[1], std::vector<std::string>(argv + 2, argv + argc));
  if (status.ok()) return 0;
  std::fprintf(stderr, "error: %s\n", std::string(status.message()).c_str());
  return 1;
}
