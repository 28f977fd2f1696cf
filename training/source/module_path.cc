#include "training/source/module_path.h"

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"

namespace onward::training {
namespace {

// "blk.0_2" is the third call of "blk.0".
std::string WithoutCall(const std::string& part) {
  size_t end = part.size();
  while (end > 0 && absl::ascii_isdigit(part[end - 1])) --end;
  return end > 1 && end < part.size() && part[end - 1] == '_' ? part.substr(0, end - 1) : part;
}

// The strings of a list of Python in a node's metadata, "['', 'layers.0', 'layer_norm']"; the last
// one is of the node itself.
std::vector<std::string> ListIn(const Node& node, const char* key) {
  const auto found = node.metadata.find(key);
  std::vector<std::string> list;
  if (found == node.metadata.end()) return list;
  const std::vector<std::string> parts = absl::StrSplit(found->second, '\'');
  for (size_t i = 1; i < parts.size(); i += 2) list.push_back(parts[i]);
  return list;
}

std::vector<std::string> ScopesOf(const Node& node) {
  return ListIn(node, "pkg.torch.onnx.name_scopes");
}

}  // namespace

std::string ModulePath(const Node& node) {
  const std::vector<std::string> scopes = ScopesOf(node);
  if (!scopes.empty()) return scopes.size() < 2 ? "" : scopes[scopes.size() - 2];
  if (!absl::StartsWith(node.name, "/")) return "";
  std::vector<std::string> parts = absl::StrSplit(node.name.substr(1), '/');
  parts.pop_back();
  std::vector<std::string> path;
  for (const std::string& each : parts) {
    const std::string part = WithoutCall(each);
    // Children of a Sequential repeat its name: "/layer1/layer1.0/conv1/Conv".
    if (!path.empty() && absl::StartsWith(part, path.back() + ".")) path.pop_back();
    path.push_back(part);
  }
  return absl::StrJoin(path, ".");
}

std::string OuterModule(const std::string& path) {
  const size_t dot = path.rfind('.');
  return dot == path.npos ? "" : path.substr(0, dot);
}

std::vector<std::pair<std::string, std::string>> ModuleClasses(const Node& node) {
  const std::vector<std::string> scopes = ScopesOf(node);
  const std::vector<std::string> classes = ListIn(node, "pkg.torch.onnx.class_hierarchy");
  std::vector<std::pair<std::string, std::string>> modules;
  for (size_t i = 0; i + 1 < scopes.size() && i + 1 < classes.size(); ++i)
    modules.emplace_back(scopes[i], classes[i].substr(classes[i].rfind('.') + 1));
  return modules;
}

}  // namespace onward::training
