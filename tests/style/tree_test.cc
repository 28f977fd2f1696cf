// The house rules that a machine can check: include directions, file lengths, families with cases,
// names that say nothing.
#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace onward {
namespace {

namespace fs = std::filesystem;

const fs::path kRoot = ONWARD_SOURCE_DIR;

// What each top folder may include besides itself: the picture in docs/architecture.md.
const std::map<std::string, std::set<std::string>> kMayInclude = {
    {"graph", {}},
    {"collectives", {"graph"}},
    {"files", {"graph"}},
    {"nn", {"graph"}},
    {"onnx_io", {"files", "graph"}},
    {"kernels", {"collectives", "files", "graph"}},
    {"telemetry", {"files", "graph"}},
    {"executors", {"kernels", "telemetry", "collectives", "files", "graph"}},
    {"generation", {"executors", "telemetry", "kernels", "files", "graph", "onnx_io"}},
    {"quantization", {"executors", "telemetry", "kernels", "files", "graph", "onnx_io"}},
    {"training",
     {"nn", "executors", "telemetry", "kernels", "collectives", "files", "graph", "onnx_io"}},
    {"serving", {"generation", "executors", "telemetry", "kernels", "files", "graph", "onnx_io"}},
    {"api",
     {"training", "quantization", "generation", "nn", "executors", "telemetry", "kernels", "files",
      "graph", "onnx_io"}},
};

// What holds sources.
const char* const kFolders[] = {
    "include", "graph",     "collectives", "files",      "nn",           "onnx_io",
    "kernels", "telemetry", "executors",   "generation", "quantization", "training",
    "serving", "api",       "cli",         "tests",      "benchmarks",   "examples"};

std::vector<fs::path> Sources(const fs::path& folder) {
  std::vector<fs::path> sources;
  if (!fs::exists(folder)) return sources;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string extension = entry.path().extension().string();
    if (extension == ".h" || extension == ".cc" || extension == ".cu" || extension == ".cuh")
      sources.push_back(entry.path());
  }
  return sources;
}

std::vector<std::string> Lines(const fs::path& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

// The headers of include/onward by the room that has their source, a header alone by none.
std::map<std::string, std::string> RoomsOfPublicHeaders() {
  static const std::regex include("^#include \"(onward/.*)\"");
  std::map<std::string, std::string> rooms;
  for (const auto& [folder, allowed] : kMayInclude) {
    for (const fs::path& source : Sources(kRoot / folder)) {
      for (const std::string& line : Lines(source)) {
        std::smatch match;
        if (!std::regex_search(line, match, include)) continue;
        const std::string header = match[1];
        if (fs::path(header).stem() != source.stem() || source.extension() != ".cc") break;
        const auto [it, added] = rooms.emplace(header, folder);
        if (!added && allowed.count(it->second) == 0) it->second = folder;
        break;
      }
    }
  }
  // Made by protoc, of the messages beside the headers.
  for (const auto& entry : fs::directory_iterator(kRoot / "include/onward"))
    if (entry.path().extension() == ".proto")
      rooms["onward/" + entry.path().stem().string() + ".pb.h"] = "training";
  return rooms;
}

TEST(Tree, IncludesGoOneWay) {
  static const std::regex include("^#include \"([a-z_]+)/.*\"");
  static const std::regex public_include("^#include \"(onward/.*)\"");
  const std::map<std::string, std::string> rooms = RoomsOfPublicHeaders();
  EXPECT_EQ(rooms.at("onward/tensor.h"), "graph");
  EXPECT_EQ(rooms.at("onward/session.h"), "executors");
  EXPECT_EQ(rooms.at("onward/training.h"), "training");
  EXPECT_EQ(rooms.at("onward/train_config.pb.h"), "training");
  for (const auto& [folder, allowed] : kMayInclude) {
    for (const fs::path& source : Sources(kRoot / folder)) {
      for (const std::string& line : Lines(source)) {
        std::smatch match;
        std::string target;
        if (std::regex_search(line, match, public_include)) {
          const auto room = rooms.find(match[1]);
          if (room != rooms.end()) target = room->second;
        } else if (std::regex_search(line, match, include)) {
          target = match[1];
        }
        if (target == folder || kMayInclude.count(target) == 0) continue;
        EXPECT_TRUE(allowed.count(target))
            << fs::relative(source, kRoot) << " includes " << target << "/";
      }
    }
  }
}

// Sources that may change a graph other than by a patch: those that make graphs, and rewrites that
// change what a graph computes. Folders where all that is there makes or rewrites graphs, then
// files.
constexpr const char* kEditors[] = {
    "graph/ir/", "graph/infer/", "graph/builder/", "onnx_io/", "training/gradient/",
    // Patches and rewrites are made of these.
    "graph/rewrite/add_cast.cc", "graph/rewrite/autocast.cc", "graph/rewrite/compose.cc",
    "graph/rewrite/cut_zip_maps.cc", "graph/rewrite/keep_outputs.cc", "graph/rewrite/patch.cc",
    "graph/rewrite/state.cc",
    // Parameters and names of modules.
    "nn/module.cc", "nn/normalization.cc", "nn/parameters.cc", "nn/row_norm.cc",
    "nn/spectral_norm.cc", "nn/weight_norm.cc",
    // Patches cannot say this: single uses, outputs and captures, constants that are dropped,
    // metadata of nodes that stay.
    "graph/passes/eliminate_dead.cc", "graph/passes/flush_subnormals.cc",
    "graph/passes/fuse_elementwise.cc", "graph/passes/sink_constants.cc",
    "graph/passes/widen_floats.cc", "executors/compile_program.cc", "executors/plan/place.cc",
    // Graphs of one node.
    "cli/operator_model.cc",
    // Dims of inputs.
    "cli/graph_sizes.cc", "generation/fixed_cache.cc",
    // Uses by some nodes only, of values that get another shape.
    "generation/row_positions.cc", "generation/masked_cache.cc",
    // They change what the graph computes.
    "quantization/half_floats.cc", "quantization/int4_weights.cc", "quantization/static_int8.cc",
    "training/source/merged_weights.cc", "training/source/operand_weights.cc",
    "training/source/stop_gradients.cc", "training/prepare/head.cc",
    "training/prepare/instance_norm.cc", "training/prepare/master_weights.cc",
    "training/prepare/mode.cc", "training/prepare/several_values.cc",
    "training/prepare/spectral_norm.cc", "training/rewrite/all_reduce.cc",
    "training/rewrite/fuse_attention.cc", "training/rewrite/keep_narrow.cc",
    "training/rewrite/recompute.cc", "training/rewrite/training_names.cc"};

bool EditsGraphs(const fs::path& source) {
  const std::vector<std::string> lines = Lines(source);
  return std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line == "#include \"graph/ir/graph_edit.h\"";
  });
}

TEST(Tree, OnlyEditorsChangeGraphs) {
  std::set<std::string> used;
  for (const std::string folder : kFolders) {
    if (folder == "tests" || folder == "benchmarks") continue;
    for (const fs::path& source : Sources(kRoot / folder)) {
      if (!EditsGraphs(source)) continue;
      const std::string path = fs::relative(source, kRoot);
      const auto editor = std::find_if(std::begin(kEditors), std::end(kEditors),
                                       [&](const char* each) { return path.rfind(each, 0) == 0; });
      EXPECT_NE(editor, std::end(kEditors)) << path << " edits graphs: write a patch";
      if (editor != std::end(kEditors)) used.insert(*editor);
    }
  }
  for (const char* editor : kEditors)
    EXPECT_TRUE(used.count(editor)) << editor << " edits no graph any more";
}

// Installed headers need no private ones; examples are written as users write them.
TEST(Tree, PublicHeadersNeedNoPrivateOnes) {
  static const std::regex include("^#include [\"<]([^\">]*)[\">]");
  for (const fs::path& source : Sources(kRoot / "include")) {
    for (const std::string& line : Lines(source)) {
      std::smatch match;
      if (!std::regex_search(line, match, include)) continue;
      const std::string target = match[1];
      const bool standard = line.find('<') != std::string::npos;
      EXPECT_TRUE(standard || target.rfind("onward/", 0) == 0 || target.rfind("absl/", 0) == 0)
          << fs::relative(source, kRoot) << ": " << line;
    }
  }
  for (const fs::path& source : Sources(kRoot / "examples"))
    for (const std::string& line : Lines(source))
      EXPECT_EQ(line.rfind("#include \"", 0), std::string::npos)
          << fs::relative(source, kRoot) << ": " << line;
}

// The stages of training, each with those that stand before it; training/README.md shows them.
TEST(Tree, StagesOfTrainingGoOneWay) {
  static const std::vector<std::string> kStages = {"source",  "gradient", "prepare",
                                                   "rewrite", "step",     "trainer"};
  static const std::regex include("^#include \"training/([a-z_]+)/.*\"");
  for (size_t stage = 0; stage < kStages.size(); ++stage) {
    for (const fs::path& source : Sources(kRoot / "training" / kStages[stage])) {
      for (const std::string& line : Lines(source)) {
        std::smatch match;
        if (!std::regex_search(line, match, include)) continue;
        const auto target = std::find(kStages.begin(), kStages.end(), match[1].str());
        if (target == kStages.end()) continue;
        EXPECT_LE(target - kStages.begin(), static_cast<std::ptrdiff_t>(stage))
            << fs::relative(source, kRoot) << " includes " << match[1];
      }
    }
  }
}

// Layers within a room, the lowest first, by how their files' paths begin; other files of the room
// stand above them.
const std::map<std::string, std::vector<std::string>> kLayers = {
    {"executors", {"executors/provider.", "executors/plan/"}},
    {"onnx_io", {"onnx_io/problems.", "onnx_io/upgrade/"}},
};

TEST(Tree, LayersOfRoomsGoOneWay) {
  static const std::regex include("^#include \"([a-z_]+/.*)\"");
  for (const auto& [room, layers] : kLayers) {
    const auto layer_of = [&layers = layers](const std::string& path) {
      const auto found = std::find_if(layers.begin(), layers.end(),
                                      [&](const auto& layer) { return path.rfind(layer, 0) == 0; });
      return found - layers.begin();
    };
    for (const fs::path& source : Sources(kRoot / room)) {
      const std::string path = fs::relative(source, kRoot).string();
      for (const std::string& line : Lines(source)) {
        std::smatch match;
        if (!std::regex_search(line, match, include) || match[1].str().rfind(room + "/", 0) != 0)
          continue;
        EXPECT_LE(layer_of(match[1]), layer_of(path)) << path << " includes " << match[1];
      }
    }
  }
}

// By the path without its extension: what a header and its source include from their own room.
std::map<std::string, std::set<std::string>> IncludesWithin(const std::string& room) {
  static const std::regex include("^#include \"([a-z_]+/.*)\"");
  std::map<std::string, std::set<std::string>> includes;
  for (const fs::path& source : Sources(kRoot / room)) {
    const std::string unit = fs::relative(source, kRoot).replace_extension().string();
    std::set<std::string>& included = includes[unit];
    for (const std::string& line : Lines(source)) {
      std::smatch match;
      if (!std::regex_search(line, match, include)) continue;
      const std::string target = fs::path(match[1].str()).replace_extension().string();
      if (target.rfind(room + "/", 0) == 0 && target != unit) included.insert(target);
    }
  }
  return includes;
}

// Takes away what is in no circle: files that include none of the others, one after the other.
void DropLeaves(std::map<std::string, std::set<std::string>>& includes) {
  while (true) {
    const auto leaf = std::find_if(includes.begin(), includes.end(), [&](const auto& unit) {
      return std::none_of(unit.second.begin(), unit.second.end(),
                          [&](const std::string& each) { return includes.count(each) != 0; });
    });
    if (leaf == includes.end()) return;
    includes.erase(leaf);
  }
}

TEST(Tree, FilesOfARoomIncludeEachOtherOneWay) {
  for (const auto& [room, allowed] : kMayInclude) {
    std::map<std::string, std::set<std::string>> includes = IncludesWithin(room);
    DropLeaves(includes);
    for (const auto& [unit, included] : includes)
      for (const std::string& each : included)
        EXPECT_EQ(includes.count(each), 0U) << unit << " includes " << each << ", a circle";
  }
}

TEST(Tree, CudaHeadersStayWithCuda) {
  static const std::regex cuda("^#include [<\"](cuda|cublas|cudnn|nccl|nvrtc)");
  for (const auto& [folder, allowed] : kMayInclude) {
    for (const fs::path& source : Sources(kRoot / folder)) {
      const std::string name = fs::relative(source, kRoot).string();
      if (name.find("/cuda/") != std::string::npos) continue;
      for (const std::string& line : Lines(source))
        EXPECT_FALSE(std::regex_search(line, cuda)) << name << ": " << line;
    }
  }
}

TEST(Tree, GlooStaysInOneFile) {
  static const std::regex gloo("^#include [<\"]gloo/");
  for (const std::string folder : kFolders) {
    for (const fs::path& source : Sources(kRoot / folder)) {
      const std::string name = fs::relative(source, kRoot).string();
      if (name == "collectives/gloo.cc") continue;
      for (const std::string& line : Lines(source))
        EXPECT_FALSE(std::regex_search(line, gloo)) << name << ": " << line;
    }
  }
}

TEST(Tree, ModelProtoStaysInOnnxIo) {
  static const std::regex proto("\\b(ModelProto|GraphProto)\\b");
  for (const std::string folder :
       {"graph", "nn", "kernels", "executors", "generation", "training", "cli"}) {
    for (const fs::path& source : Sources(kRoot / folder)) {
      for (const std::string& line : Lines(source)) {
        EXPECT_FALSE(std::regex_search(line, proto)) << fs::relative(source, kRoot) << ": " << line;
      }
    }
  }
}

// Pages that people write: those of the root, of docs and of every folder of sources.
std::vector<fs::path> Documents() {
  const std::set<std::string> generated = {"docs/conformance.md", "docs/ops.md"};
  std::vector<fs::path> pages;
  const auto add = [&](const fs::path& path) {
    if (path.extension() == ".md" && generated.count(fs::relative(path, kRoot)) == 0)
      pages.push_back(path);
  };
  for (const auto& entry : fs::directory_iterator(kRoot)) add(entry.path());
  std::vector<std::string> folders(std::begin(kFolders), std::end(kFolders));
  folders.insert(folders.end(), {"cmake", "docs", "scripts"});
  for (const std::string& folder : folders)
    for (const auto& entry : fs::recursive_directory_iterator(kRoot / folder)) add(entry.path());
  return pages;
}

// Prose of documents is wrapped at 120 characters; tables and code are as wide as they need.
TEST(Tree, DocumentsAreWrapped) {
  for (const fs::path& page : Documents()) {
    bool code = false;
    for (const std::string& line : Lines(page)) {
      if (line.rfind("```", 0) == 0) code = !code;
      if (code || line.rfind("|", 0) == 0) continue;
      const auto characters = std::count_if(
          line.begin(), line.end(), [](char c) { return (static_cast<uint8_t>(c) >> 6) != 2; });
      EXPECT_LE(characters, 120) << fs::relative(page, kRoot) << ": " << line;
    }
  }
}

// A path from the root that a page names in backticks exists; <name> and * stand for any name.
TEST(Tree, PathsInDocumentsExist) {
  static const std::regex path("`([a-z_]+)(/[A-Za-z0-9_./]*[A-Za-z0-9_])/?`");
  std::set<std::string> folders(std::begin(kFolders), std::end(kFolders));
  folders.insert({"cmake", "docs", "scripts"});
  int found = 0;
  for (const fs::path& page : Documents()) {
    for (const std::string& line : Lines(page)) {
      for (std::sregex_iterator it(line.begin(), line.end(), path), end; it != end; ++it) {
        const std::string top = (*it)[1], rest = (*it)[2];
        const bool is_public = top == "onward";
        if (!is_public && folders.count(top) == 0) continue;
        const std::string full = (is_public ? "include/onward" : top) + rest;
        const fs::path folder = (kRoot / full).parent_path();
        const std::string stem = fs::path(full).filename();
        // A family is named without an extension.
        bool exists = fs::exists(kRoot / full);
        if (!exists && fs::is_directory(folder))
          for (const auto& entry : fs::directory_iterator(folder))
            exists |= entry.path().stem() == stem;
        EXPECT_TRUE(exists) << fs::relative(page, kRoot) << ": " << full;
        ++found;
      }
    }
  }
  EXPECT_GT(found, 200);
}

TEST(Tree, FoldersHaveReadmes) {
  std::vector<std::string> folders(std::begin(kFolders), std::end(kFolders));
  folders.insert(folders.end(), {"cmake", "docs", "scripts", "kernels/cuda"});
  for (std::string folder : folders) {
    if (folder == "include") folder = "include/onward";
    const size_t lines = Lines(kRoot / folder / "README.md").size();
    EXPECT_GE(lines, 10U) << folder;
    EXPECT_LE(lines, 30U) << folder;
  }
}

TEST(Tree, FilesAreShort) {
  for (const std::string folder : kFolders) {
    for (const fs::path& source : Sources(kRoot / folder)) {
      EXPECT_LE(Lines(source).size(), 600u) << fs::relative(source, kRoot);
    }
  }
}

// Namespaces that lie in a room besides its own.
const std::set<std::pair<std::string, std::string>> kOtherNamespaces = {{"files", "chat_template"},
                                                                        {"files", "image"},
                                                                        {"files", "tokenizer"},
                                                                        {"training", "gradient"},
                                                                        {"training", "loss"}};

// graph is the core vocabulary and lies in onward, as what users see does.
TEST(Tree, PrivateHeadersOpenTheNamespaceOfTheirRoom) {
  static const std::regex opened("^namespace onward(::([a-z_]+))?.* \\{");
  for (const std::string room : kFolders) {
    if (room == "graph" || (kMayInclude.count(room) == 0 && room != "cli")) continue;
    for (const fs::path& source : Sources(kRoot / room)) {
      if (source.extension() != ".h" && source.extension() != ".cuh") continue;
      for (const std::string& line : Lines(source)) {
        std::smatch match;
        if (!std::regex_search(line, match, opened)) continue;
        EXPECT_TRUE(match[2] == room || kOtherNamespaces.count({room, match[2]}) != 0)
            << fs::relative(source, kRoot) << ": " << line;
      }
    }
  }
}

// Length of the longest function that begins at `indent` columns, and where. A function begins at
// the first line of its declaration and ends at a brace below it; formatting makes that exact
// enough.
std::pair<size_t, std::string> LongestFunction(const fs::path& path, size_t indent) {
  const std::vector<std::string> lines = Lines(path);
  const std::regex other(
      "namespace|struct|class|enum|if|for|while|switch|else|return|do|case|using");
  std::pair<size_t, std::string> longest;
  size_t start = 0;
  bool inside = false;
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = lines[i];
    const bool at_indent = line.size() > indent && line.find_first_not_of(' ') == indent;
    std::smatch word;
    const bool begins = at_indent &&
                        (std::isalpha(static_cast<unsigned char>(line[indent])) != 0) &&
                        !(std::regex_search(line, word, std::regex("[A-Za-z_]+")) &&
                          std::regex_match(word.str(), other));
    if (begins && !inside) {
      start = i;
      inside = true;
    }
    if (!inside || !at_indent) continue;
    if (line == std::string(indent, ' ') + "}") {
      if (i - start + 1 > longest.first) longest = {i - start + 1, lines[start]};
      inside = false;
    } else if (line[indent] == '}' || line.back() == ';') {
      inside = false;
    }
  }
  return longest;
}

TEST(Tree, FunctionsAreShort) {
  for (const char* folder : kFolders) {
    if (std::string(folder) == "tests") continue;
    for (const fs::path& path : Sources(kRoot / folder)) {
      if (path == kRoot / "kernels/cpu/kernels.cc") continue;  // a table
      for (const size_t indent : {0, 2}) {
        const auto [length, where] = LongestFunction(path, indent);
        EXPECT_LE(length, 60U) << path << ": " << where;
      }
    }
  }
}

// What a line at the start of a namespace declares: a type, and in headers a constant or function.
// clang-format puts declarations in namespaces at the start of the line.
std::string DeclaredName(const std::string& line, bool in_header) {
  static const std::regex type(
      "^(struct|class|union|enum class|enum) ([A-Za-z0-9_]+)( final)?( :[^:].*)?( \\{.*)?$");
  static const std::regex constant(
      "^((inline|static|extern) )*const(expr|init)? [^(=]*\\b(k[A-Z]\\w*)");
  static const std::regex function(
      "^([A-Za-z][A-Za-z0-9_:<>,&*\\[\\] ]*[ &*])?([A-Z]\\w*[a-z]\\w*)\\(");
  static const std::regex other("^(using|typedef|friend|return) ");
  std::smatch match;
  if (std::regex_match(line, match, type)) return match[2];
  if (!in_header || std::regex_search(line, other)) return "";
  if (std::regex_search(line, match, constant)) return match[4];
  if (std::regex_search(line, match, function)) return match[2];
  return "";
}

// Types of other translation units that have one name must be one type: the linker keeps one copy
// of their functions. Overloads stand in one header, so who finds one has found them all.
TEST(Tree, NamesOfOneNamespaceAreDeclaredInOneFile) {
  static const std::regex opened("^(inline )?namespace ([A-Za-z0-9_:]*) ?\\{");
  static const std::regex closed("^\\}  // (inline )?namespace");
  std::map<std::string, std::string> declared_in;
  for (const std::string folder : kFolders) {
    for (const fs::path& source : Sources(kRoot / folder)) {
      const bool is_header = source.extension() == ".h" || source.extension() == ".cuh";
      std::vector<std::string> scope;
      for (const std::string& line : Lines(source)) {
        std::smatch match;
        if (std::regex_search(line, match, opened)) scope.push_back(match[2]);
        if (std::regex_search(line, closed) && !scope.empty()) scope.pop_back();
        const bool unnamed = std::find(scope.begin(), scope.end(), "") != scope.end();
        if (unnamed || scope.empty() || line.empty() || !std::isalpha(line[0])) continue;
        std::string name = DeclaredName(line, is_header);
        if (name.empty()) continue;
        for (size_t i = scope.size(); i-- > 0;) name = scope[i] + "::" + name;
        const std::string file = fs::relative(source, kRoot).string();
        const auto [it, added] = declared_in.emplace(name, file);
        EXPECT_TRUE(added || it->second == file)
            << name << " is declared in " << it->second << " and in " << file;
      }
    }
  }
  EXPECT_GT(declared_in.size(), 2500u);
}

TEST(Tree, NamesSayWhatIsInside) {
  static const std::regex empty_word(
      "(^common\\.|(^|_)(manager|helper|helpers|util|utils|impl|info|misc)(_|\\.|$))");
  for (const std::string folder : kFolders) {
    for (const fs::path& source : Sources(kRoot / folder)) {
      EXPECT_FALSE(std::regex_search(source.filename().string(), empty_word))
          << fs::relative(source, kRoot);
    }
  }
}

// Native readers stumble over these habits. Plain are: returns; continues or resumes; "is not a"
// ("there is no x" is fine, too); "is not supported".
TEST(Tree, CommentsAndMessagesAreInPlainEnglish) {
  static constexpr std::string_view kOdd[] = {" answers ", " Answers ", " goes on",
                                              " not done here"};
  static const std::regex is_no(
      "(^|[^A-Za-z])([A-Za-z]+) (is|are|was|were) no ([a-z]+)|\", no [a-z]+\"");
  static const std::set<std::string> kFine = {"better", "longer", "matter", "more"};
  for (const std::string folder : kFolders) {
    for (const fs::path& source : Sources(kRoot / folder)) {
      if (source.filename() == "tree_test.cc") continue;
      for (const std::string& line : Lines(source)) {
        for (const std::string_view odd : kOdd)
          EXPECT_EQ(line.find(odd), line.npos) << fs::relative(source, kRoot) << ": " << line;
        if (line.find(" no ") == line.npos) continue;
        for (std::sregex_iterator it(line.begin(), line.end(), is_no), end; it != end; ++it) {
          const std::string subject = (*it)[2];
          EXPECT_TRUE(subject == "there" || subject == "There" || kFine.count((*it)[4]) != 0)
              << fs::relative(source, kRoot) << ": " << line;
        }
      }
    }
  }
}

// A comment of a header is a sentence with a subject and a verb, or names a thing; it is not a
// clause that the reader has to complete.
TEST(Tree, CommentsOfHeadersHaveSubjects) {
  static const std::regex comment("^ *// ?([A-Za-z]*)");
  static const std::set<std::string> kClauses = {"What", "How", "Whether"};
  for (const std::string folder : kFolders) {
    for (const fs::path& source : Sources(kRoot / folder)) {
      if (source.extension() != ".h" && source.extension() != ".cuh") continue;
      const std::string path = fs::relative(source, kRoot);
      bool inside = false;
      for (const std::string& line : Lines(source)) {
        std::smatch match;
        const bool is_comment = std::regex_search(line, match, comment);
        EXPECT_FALSE(is_comment && match[1] == "Of") << path << ": " << line;
        EXPECT_FALSE(is_comment && !inside && kClauses.count(match[1]) != 0)
            << path << ": " << line;
        inside = is_comment;
      }
    }
  }
}

}  // namespace
}  // namespace onward
