// Places that no gradient passes: `detach()`s of a PyTorch source, and values that a user names.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "onward/graph.h"

namespace onward::training {

struct DetachReport {
  int stopped = 0;  // places where a StopGradient stands now
  // Places where a `detach()` of the source may have been lost, each with the reason.
  std::vector<std::string> doubtful;
};

// Puts an onward.StopGradient wherever PyTorch's exporter (dynamo=True) says that the source
// detaches, in bodies too. `optimize=False` leaves an Identity for each detach(), which becomes the
// StopGradient. The exporter's optimizer removes these; then the texts beside the nodes say which
// inputs were detached (training/source/torch_operands.h), and those inputs alone are stopped: the
// same value may be read detached and not. Does nothing the second time. Files of the TorchScript
// exporter say nothing of detach(), and no file says anything of torch.no_grad().
DetachReport StopDetached(Graph& graph);

// Puts an onward.StopGradient behind every value that matches one of the patterns ('*', '?'):
// whoever reads it, reads it detached. InvalidArgument: a pattern that matches no value; `field` is
// the setting's name.
absl::Status StopGradientsAt(Graph& graph, absl::Span<const std::string> patterns,
                             const std::string& field);

// Makes an Identity of every onward.StopGradient, in bodies too, for files that any runtime reads.
// Its metadata say what it was, so that StopDetached finds it again.
void StopGradientsToIdentities(Graph& graph);

}  // namespace onward::training
