#include "cli/wrong_rewrite.h"

#include <algorithm>
#include <memory>

#include "absl/strings/str_cat.h"
#include "onward/status.h"

namespace onward::cli {
namespace {

using MadeSession = std::unique_ptr<Session>;

absl::StatusOr<MadeSession> After(int rewrites, const std::string& model, SessionOptions options) {
  options.stop_after_patches = rewrites;
  return Session::Load(model, options);
}

std::vector<std::string> NodesOf(const Session& session) {
  std::vector<std::string> nodes;
  for (const NodeExplanation& each : session.Explain()) {
    nodes.push_back(each.origin.empty() ? each.node
                                        : absl::StrCat(each.node, " (", each.origin, ")"));
  }
  std::sort(nodes.begin(), nodes.end());
  return nodes;
}

// The pass whose rewrites are one more in `after`.
std::string PassBetween(const Session& before, const Session& after) {
  const auto &few = before.passes(), &more = after.passes();
  for (size_t i = 0; i < std::min(few.size(), more.size()); ++i)
    if (few[i].patches != more[i].patches) return more[i].name;
  return "";
}

}  // namespace

absl::StatusOr<WrongRewrite> FindWrongRewrite(
    const std::string& model, const SessionOptions& options,
    const std::function<absl::StatusOr<bool>(Session& session)>& right) {
  WrongRewrite found;
  {
    ONWARD_ASSIGN_OR_RETURN(const MadeSession whole, Session::Load(model, options));
    for (const PassReport& pass : whole->passes()) found.rewrites += pass.patches;
  }
  const auto right_after = [&](int rewrites) -> absl::StatusOr<bool> {
    ONWARD_ASSIGN_OR_RETURN(const MadeSession session, After(rewrites, model, options));
    return right(*session);
  };
  ONWARD_ASSIGN_OR_RETURN(const bool right_without, right_after(0));
  if (!right_without) return found;
  int low = 0, high = found.rewrites;  // right after `low`, wrong after `high`
  while (high - low > 1) {
    const int middle = low + (high - low) / 2;
    ONWARD_ASSIGN_OR_RETURN(const bool is_right, right_after(middle));
    (is_right ? low : high) = middle;
  }
  found.number = high;
  ONWARD_ASSIGN_OR_RETURN(const MadeSession before, After(low, model, options));
  ONWARD_ASSIGN_OR_RETURN(const MadeSession after, After(high, model, options));
  found.pass = PassBetween(*before, *after);
  const std::vector<std::string> old = NodesOf(*before), now = NodesOf(*after);
  std::set_difference(now.begin(), now.end(), old.begin(), old.end(),
                      std::back_inserter(found.nodes));
  return found;
}

}  // namespace onward::cli
