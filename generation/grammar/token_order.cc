#include "generation/grammar/token_order.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace onward::generation {
namespace {

// Bytes of characters beyond ASCII, in well-formed UTF-8.
constexpr size_t kFirstBeyond = 0x80, kLastBeyond = 0xF4;

bool BeginsOrEndsInside(std::string_view text) {
  if ((static_cast<uint8_t>(text[0]) & 0xC0) == 0x80) return true;
  size_t last = text.size() - 1;
  while (last > 0 && (static_cast<uint8_t>(text[last]) & 0xC0) == 0x80) --last;
  const auto lead = static_cast<uint8_t>(text[last]);
  const size_t bytes = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  return text.size() - last != bytes;
}

}  // namespace

TokenOrder::TokenOrder(const std::vector<std::string>& bytes, std::vector<int64_t> not_first)
    : not_first_(std::move(not_first)), size_(static_cast<int64_t>(bytes.size())) {
  bool whole_characters = true;
  for (size_t id = 0; id < bytes.size(); ++id) {
    if (bytes[id].empty()) continue;
    tokens_.push_back({static_cast<int64_t>(id), bytes[id]});
    longest_ = std::max(longest_, static_cast<uint32_t>(bytes[id].size()));
    if (bytes[id].size() == 1) writable_.set(static_cast<uint8_t>(bytes[id][0]));
    whole_characters = whole_characters && !BeginsOrEndsInside(bytes[id]);
  }
  std::sort(tokens_.begin(), tokens_.end(), [](const Token& a, const Token& b) {
    return std::tie(a.bytes, a.id) < std::tie(b.bytes, b.id);
  });
  places_.assign(bytes.size(), 0);
  for (size_t i = 0; i < tokens_.size(); ++i) {
    places_[static_cast<size_t>(tokens_[i].id)] = static_cast<uint32_t>(i + 1);
    ++begins_[static_cast<uint8_t>(tokens_[i].bytes[0]) + size_t{1}];
    if (i == 0) continue;
    const std::string &before = tokens_[i - 1].bytes, &text = tokens_[i].bytes;
    tokens_[i].shared = static_cast<size_t>(
        std::mismatch(before.begin(), before.end(), text.begin(), text.end()).second -
        text.begin());
  }
  for (size_t byte = 0; byte < 256; ++byte) begins_[byte + 1] += begins_[byte];
  for (size_t byte = kFirstBeyond; byte <= kLastBeyond; ++byte) {
    const bool never = byte == 0xC0 || byte == 0xC1;  // in no character
    has_all_bytes_ = has_all_bytes_ && (never || writable_[byte]);
  }
  for (size_t byte = kFirstBeyond; byte < 256; ++byte)
    writable_[byte] = has_all_bytes_ || whole_characters;
}

std::string_view TokenOrder::bytes_of(int64_t id) const {
  if (id < 0 || id >= size_) return "";
  const uint32_t place = places_[static_cast<size_t>(id)];
  return place == 0 ? std::string_view() : tokens_[place - 1].bytes;
}

}  // namespace onward::generation
