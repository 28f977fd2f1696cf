// NonMaxSuppression: a box is compared with the kept ones near it, several at once, since most
// overlap none.
#include <algorithm>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"
#include "kernels/cpu/fast_float.h"
#include "kernels/cpu/kept_boxes.h"
#include "kernels/cpu/kernel_list.h"
#include "onward/shape.h"

namespace onward::kernels::cpu {
namespace {

struct Candidate {
  float score;
  int32_t index;
};

// A heap's order: the best score on top, of equal scores the lower index.
bool Worse(const Candidate& a, const Candidate& b) {
  return a.score < b.score || (a.score == b.score && a.index > b.index);
}

Box BoxOf(const float* raw, bool center) {
  Box box;
  if (center) {  // x and y of the centre, width, height
    const float half_width = raw[2] / 2, half_height = raw[3] / 2;
    box = {raw[0] - half_width, raw[1] - half_height, raw[0] + half_width, raw[1] + half_height, 0};
  } else {  // y, x of one corner, y, x of the opposite one
    box = {std::min(raw[1], raw[3]), std::min(raw[0], raw[2]), std::max(raw[1], raw[3]),
           std::max(raw[0], raw[2]), 0};
  }
  box.area = (box.x_max - box.x_min) * (box.y_max - box.y_min);
  return box;
}

struct Problem {
  int64_t batches = 0, classes = 0, boxes = 0;
  int64_t limit = 0;  // boxes kept per class
  float iou = 0;
  bool has_score_threshold = false;
  float score_threshold = 0;
};

constexpr int64_t InWords(int64_t bytes) { return CeilDiv(bytes, 8) * 8; }

int64_t BoxBytes(int64_t boxes) { return InWords(static_cast<int64_t>(sizeof(Box)) * boxes); }

// What a worker needs for one class of `boxes` boxes.
struct Workspace {
  Candidate* candidates;
  int32_t* places;  // of the candidates
  char* kept;

  static int64_t ListBytes(int64_t boxes) {
    return InWords(static_cast<int64_t>(sizeof(Candidate) + sizeof(int32_t)) * boxes);
  }
  static int64_t Bytes(int64_t boxes) {
    return ListBytes(boxes) + InWords(KeptBoxes::Bytes(boxes));
  }
  Workspace(char* memory, int64_t boxes)
      : candidates(reinterpret_cast<Candidate*>(memory)),
        places(reinterpret_cast<int32_t*>(candidates + boxes)),
        kept(memory + ListBytes(boxes)) {}
};

// Chooses the boxes of one class, best first; returns how many it wrote to `selected`.
int64_t Select(const Problem& problem, const float* scores, const Box* boxes,
               FirstOverlapLoop first_overlap, const Workspace& workspace, int32_t* selected) {
  Candidate* candidates = workspace.candidates;
  int64_t count = 0;
  for (int64_t i = 0; i < problem.boxes; ++i) {
    // NaN has no place in an order of scores.
    const bool taken =
        problem.has_score_threshold ? scores[i] > problem.score_threshold : scores[i] == scores[i];
    if (!taken) continue;
    workspace.places[count] = static_cast<int32_t>(i);
    candidates[count++] = {scores[i], static_cast<int32_t>(i)};
  }
  KeptBoxes kept_boxes(boxes, {workspace.places, static_cast<size_t>(count)}, first_overlap,
                       workspace.kept);
  std::make_heap(candidates, candidates + count, Worse);
  int64_t kept = 0;
  while (count > 0 && kept < problem.limit) {
    std::pop_heap(candidates, candidates + count, Worse);
    const int32_t next = candidates[--count].index;
    if (kept_boxes.Suppresses(next, problem.iou)) continue;
    kept_boxes.Add(next);
    selected[kept++] = next;
  }
  return kept;
}

class NonMaxSuppression : public Kernel {
 public:
  NonMaxSuppression(bool center, FirstOverlapLoop first_overlap)
      : center_(center), first_overlap_(first_overlap) {}
  absl::Status Bind(BindContext& context) const override {
    const DimsView boxes = context.input_dims(0), scores = context.input_dims(1);
    const bool fits = boxes.size() == 3 && scores.size() == 3 && boxes[2] == 4 &&
                      boxes[0] == scores[0] && boxes[1] == scores[2];
    if (!fits || boxes[1] > std::numeric_limits<int32_t>::max()) {
      return absl::InvalidArgumentError(absl::StrCat("boxes of shape ", DimsString(boxes),
                                                     " and scores of shape ", DimsString(scores),
                                                     " do not fit together"));
    }
    context.SetOutputAtRun(0);
    context.SetScratch(BoxBytes(boxes[0] * boxes[1]) +
                       Workspace::Bytes(boxes[1]) * context.num_workers());
    return absl::OkStatus();
  }

  absl::Status Run(RunContext& context) const override {
    Problem problem;
    ONWARD_RETURN_IF_ERROR(Read(context, problem));
    const int64_t tasks = problem.batches * problem.classes;
    if (tasks == 0 || problem.limit == 0)
      return context.AllocateOutput(0, DType::kInt64, {0, 3}).status();
    ONWARD_ASSIGN_OR_RETURN(void* memory,
                            context.AllocateTemporary(tasks * (problem.limit * 4 + 8)));
    auto* counts = static_cast<int64_t*>(memory);
    auto* selected = reinterpret_cast<int32_t*>(counts + tasks);
    auto* boxes = context.scratch<Box>();
    char* workers = context.scratch<char>() + BoxBytes(problem.batches * problem.boxes);
    for (int64_t i = 0; i < problem.batches * problem.boxes; ++i)
      boxes[i] = BoxOf(context.in<float>(0) + 4 * i, center_);
    const int64_t grain = std::max<int64_t>(1, 2048 / problem.boxes);
    context.ParallelForWorkers(tasks, grain, [&](int worker, int64_t begin, int64_t end) {
      const Workspace workspace(workers + worker * Workspace::Bytes(problem.boxes), problem.boxes);
      for (int64_t task = begin; task < end; ++task) {
        counts[task] = Select(problem, context.in<float>(1) + task * problem.boxes,
                              boxes + task / problem.classes * problem.boxes, first_overlap_,
                              workspace, selected + task * problem.limit);
      }
    });
    return Write(context, problem, counts, selected);
  }

 private:
  static absl::Status Read(const RunContext& context, Problem& problem) {
    const TensorView& scores = context.input(1);
    problem.batches = scores.dim(0), problem.classes = scores.dim(1), problem.boxes = scores.dim(2);
    const auto given = [&](int i) {
      return context.has_input(i) && context.input(i).num_elements() > 0;
    };
    if (given(2)) problem.limit = std::clamp<int64_t>(*context.in<int64_t>(2), 0, problem.boxes);
    if (given(3)) problem.iou = *context.in<float>(3);
    problem.has_score_threshold = given(4);
    if (given(4)) problem.score_threshold = *context.in<float>(4);
    if (!(problem.iou >= 0 && problem.iou <= 1)) {
      return absl::InvalidArgumentError(
          absl::StrCat("iou_threshold is ", problem.iou, ", outside [0, 1]"));
    }
    return absl::OkStatus();
  }
  static absl::Status Write(RunContext& context, const Problem& problem, const int64_t* counts,
                            const int32_t* selected) {
    const int64_t tasks = problem.batches * problem.classes;
    int64_t total = 0;
    for (int64_t task = 0; task < tasks; ++task) total += counts[task];
    ONWARD_ASSIGN_OR_RETURN(const TensorView view,
                            context.AllocateOutput(0, DType::kInt64, {total, 3}));
    int64_t* out = view.as<int64_t>();
    for (int64_t task = 0; task < tasks; ++task) {
      for (int64_t i = 0; i < counts[task]; ++i) {
        *out++ = task / problem.classes;
        *out++ = task % problem.classes;
        *out++ = selected[task * problem.limit + i];
      }
    }
    return absl::OkStatus();
  }
  bool center_;
  FirstOverlapLoop first_overlap_;
};

absl::StatusOr<std::unique_ptr<Kernel>> Make(const NodeSpec& spec) {
  return std::make_unique<NonMaxSuppression>(spec.attributes().Int("center_point_box", 0) != 0,
                                             kFirstOverlapPerTarget.For(TargetOf(spec)));
}

constexpr KernelEntry kKernels[] = {
    {"", "NonMaxSuppression", "non_max_suppression", Make, kVectorTargets},
};

}  // namespace

KernelList NonMaxSuppressionKernels() { return kKernels; }

}  // namespace onward::kernels::cpu
