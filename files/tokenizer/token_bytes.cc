#include <random>

#include "absl/strings/str_cat.h"
#include "files/tokenizer/tokenizer.h"
#include "onward/status.h"

namespace onward::files {
namespace {

constexpr int kPairs = 256;  // that are looked at

}  // namespace

absl::StatusOr<Tokenizer::TokenBytes> Tokenizer::Bytes() const {
  TokenBytes made;
  made.bytes.resize(static_cast<size_t>(size()));
  std::vector<std::string> alone(made.bytes.size());
  std::vector<int64_t> ids;
  for (int64_t id = 0; id < size(); ++id) {
    std::string& text = alone[static_cast<size_t>(id)];
    ONWARD_ASSIGN_OR_RETURN(text, Decode({id}, /*skip_special=*/true, /*raw=*/true));
    ONWARD_ASSIGN_OR_RETURN(const std::string twice, Decode({id, id}, true, true));
    if (twice.empty()) continue;
    ids.push_back(id);
    made.bytes[static_cast<size_t>(id)] = twice.substr(std::min(text.size(), twice.size()));
    const std::string& behind = made.bytes[static_cast<size_t>(id)];
    if (text != behind && absl::StrCat(" ", text) != behind) made.not_first.push_back(id);
  }
  if (ids.empty()) return made;
  std::mt19937 random(1);
  for (int i = 0; i < kPairs; ++i) {
    const int64_t a = ids[random() % ids.size()], b = ids[random() % ids.size()];
    ONWARD_ASSIGN_OR_RETURN(const std::string both, Decode({a, b}, true, true));
    if (both == alone[static_cast<size_t>(a)] + made.bytes[static_cast<size_t>(b)]) continue;
    return absl::UnimplementedError(
        absl::StrCat("the tokenizer's decoder writes token ", b, " by the token before it, ", a));
  }
  return made;
}

}  // namespace onward::files
