#include "training/prepare/restore_source.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "onward/status.h"
#include "training/prepare/trainable.h"
#include "training/source/folded_weights.h"
#include "training/source/merged_weights.h"
#include "training/source/stop_gradients.h"
#include "training/source/tied_weights.h"

namespace onward::training {
namespace {

constexpr char kAdvice[] = "torch.onnx.export(..., optimize=False) keeps all parameters";
constexpr size_t kNamed = 8;

// "'b' (of 'a'), 'd' (of 'c'), ..."
template <typename Each>
std::string Listed(const std::vector<Each>& all, std::string Each::*of) {
  std::string names;
  for (size_t i = 0; i < all.size() && i < kNamed; ++i)
    absl::StrAppend(&names, i == 0 ? "'" : ", '", all[i].name, "' (of '", all[i].*of, "')");
  if (all.size() > kNamed) absl::StrAppend(&names, ", ...");
  return names;
}

void WarnOfMerged(const std::vector<SeparatedWeight>& separated, const LogSink& log) {
  if (separated.empty()) return;
  Warn(log, "model",
       absl::StrCat("model: the exporter wrote weights of equal values once; ", separated.size(),
                    separated.size() == 1 ? " is" : " are",
                    " trained separately: ", Listed(separated, &SeparatedWeight::from),
                    "; `shared: '", separated[0].from, "'` keeps one as it is"));
}

void WarnOfTied(const std::vector<TiedWeight>& tied, const LogSink& log) {
  if (tied.empty()) return;
  Warn(log, "model",
       absl::StrCat("model: the exporter wrote weights twice, the second time transposed or "
                    "reshaped; they are "
                    "one again: ",
                    Listed(tied, &TiedWeight::embedding), "; `untied: '", tied[0].name,
                    "'` trains one separately"));
}

void WarnOfFolded(const FoldedWeights& folded, const LogSink& log) {
  if (!folded.computed.empty()) {
    Warn(
        log, "model",
        absl::StrCat("model: the exporter computed ", folded.computed.size(),
                     folded.computed.size() == 1 ? " weight" : " weights",
                     " from parameters of the source: ", Listed(folded.computed, &FoldedWeight::of),
                     "; a training changes the results, not the parameters; ", kAdvice));
  }
  const auto warn_of = [&](const char* what, const std::vector<std::string>& names) {
    if (names.empty()) return;
    const size_t shown = std::min(names.size(), kNamed);
    Warn(log, "model",
         absl::StrCat("model: ", what, ": '",
                      absl::StrJoin(absl::MakeConstSpan(names).first(shown), "', '"),
                      shown < names.size() ? "', ...; " : "'; ", kAdvice));
  };
  warn_of(
      "the exporter left out parameters, of zeros or part of another layer now, which are not "
      "trained",
      folded.left_out);
  warn_of(
      "the file has nothing of these parameters of the source; they are unused, the same as "
      "others, or their values changed nothing",
      folded.absent);
}

void WarnOfDetached(const DetachReport& report, const LogSink& log) {
  if (report.doubtful.empty()) return;
  Warn(log, "model",
       absl::StrCat("model: gradients may pass where the source detaches. ", report.doubtful[0],
                    report.doubtful.size() == 1
                        ? ""
                        : absl::StrCat(" (and ", report.doubtful.size() - 1, " more)"),
                    "; torch.onnx.export(..., optimize=False) keeps each detach(), "
                    "`stop_gradient` names values that are detached"));
}

}  // namespace

absl::Status RestoreSource(Graph& graph, std::vector<std::string>& initializers,
                           const RestoreOptions& options, const LogSink& log) {
  WarnOfDetached(StopDetached(graph), log);
  ONWARD_RETURN_IF_ERROR(CheckPatterns(options.shared, "shared", initializers));
  WarnOfMerged(SeparateMergedWeights(graph, initializers, options.shared), log);
  ONWARD_RETURN_IF_ERROR(CheckPatterns(options.untied, "untied", initializers));
  std::vector<std::string> untied = options.untied;
  untied.insert(untied.end(), options.kept.begin(), options.kept.end());
  ONWARD_ASSIGN_OR_RETURN(const std::vector<TiedWeight> tied,
                          TieTransposedWeights(graph, initializers, untied));
  WarnOfTied(tied, log);
  WarnOfFolded(FindFoldedWeights(graph, initializers), log);
  return absl::OkStatus();
}

}  // namespace onward::training
