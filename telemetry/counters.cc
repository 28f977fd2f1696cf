#include "onward/counters.h"

namespace onward {

Counter& Counters::Named(std::string_view name) {
  std::lock_guard lock(mutex_);
  const auto found = counters_.find(name);
  return found != counters_.end() ? found->second : counters_[std::string(name)];
}

std::map<std::string, int64_t> Counters::Read() const {
  std::lock_guard lock(mutex_);
  std::map<std::string, int64_t> values;
  for (const auto& [name, counter] : counters_) values[name] = counter.value();
  return values;
}

}  // namespace onward
