// The part of a run state that a device needs: recorded work, faults, waiting for the end.
#include <algorithm>
#include <chrono>

#include "absl/strings/str_cat.h"
#include "executors/run_state.h"
#include "onward/communicator.h"
#include "onward/status.h"

namespace onward::executors {

absl::Status RunState::PrepareDeviceWork() {
  ends_on_device_ = false;
  if (program_.providers.size() == 1) return absl::OkStatus();
  if (parent_ != nullptr) {  // whose run ends for both
    device_run_ = parent_->device_run_;
    return absl::OkStatus();
  }
  if (device_run_ == nullptr) {
    ONWARD_ASSIGN_OR_RETURN(device_run_, program_.providers.back()->AllocateRun());
  }
  for (size_t s = 0; s < program_.steps.size(); ++s) {
    const Step& step = program_.steps[s];
    if (step.device == 0 || binding_->steps[s].mode == StepPlan::Mode::kSkip) continue;
    // A step that brings a result to the host waits for all work before it, but for one of bodies.
    ends_on_device_ =
        step.kernel->host_outputs() == 0 || !program_.graph.node(step.node).subgraphs.empty();
  }
  return absl::OkStatus();
}

void RunState::BeginDeviceWork() {
  unfinished_ = ends_on_device_;
  if (device_run_ != nullptr && parent_ == nullptr) {
    *device_run_ = kernels::DeviceRun();
    device_run_->number = static_cast<uint32_t>(run_index_);
  }
  if (ran_) return;
  for (CapturedSteps& steps : captured_) steps.Find(AddressesOf(steps));
}

// Recorded launches of random ops have the slice among their arguments.
void RunState::SetBatchSlice(const BatchSlice& slice) {
  const bool same = slice.begin == batch_slice_.begin && slice.rows == batch_slice_.rows &&
                    slice.whole == batch_slice_.whole;
  batch_slice_ = slice;
  if (same) return;
  for (CapturedSteps& steps : captured_) steps.recordings.clear();
}

// The caller's memory, which the work may use, may go next.
void RunState::AbandonDeviceWork() {
  if (device_run_ != nullptr) WaitForDevice().IgnoreError();
}

absl::Status RunState::CopyOnDevice(int32_t output, void* to) {
  const SlotValue& from = result(output);
  unfinished_ = true;
  return program_.providers.back()->Copy(to, from.tensor.data, from.tensor.byte_size(),
                                         CopyKind::kOnDevice, stream());
}

absl::Status RunState::WaitForDevice() {
  // The device may wait for ranks that are gone.
  if (program_.communicator != nullptr)
    ONWARD_RETURN_IF_ERROR(program_.communicator->WaitFor(stream()));
  return program_.providers.back()->Synchronize(stream());
}

// Work on a stream cannot be taken back, so a run ends only after the device has done it. The host
// waits for several turns together, for as many as take the device some milliseconds.
absl::Status RunState::LetDeviceFollow() {
  constexpr int kMostTurns = 64;
  constexpr auto kShort = std::chrono::milliseconds(1), kLong = std::chrono::milliseconds(3);
  if (device_run_ == nullptr || ++turns_ahead_ < turns_allowed_) return absl::OkStatus();
  turns_ahead_ = 0;
  const auto begin = std::chrono::steady_clock::now();
  ONWARD_RETURN_IF_ERROR(WaitForDevice());
  const auto waited = std::chrono::steady_clock::now() - begin;
  if (waited < kShort) turns_allowed_ = std::min(2 * turns_allowed_, kMostTurns);
  if (waited > kLong) turns_allowed_ = std::max(turns_allowed_ / 2, 1);
  return absl::OkStatus();
}

absl::Status RunState::Finish() {
  if (unfinished_) ONWARD_RETURN_IF_ERROR(WaitForDevice());
  unfinished_ = false;
  return CheckFault().ok() ? absl::OkStatus() : FaultError();
}

absl::Status RunState::CheckFault() const {
  if (device_run_ == nullptr || device_run_->step == 0) return absl::OkStatus();
  return absl::AbortedError("the device found a fault");
}

absl::Status RunState::FaultError() const {
  int32_t s = device_run_->step - 1;
  const auto part = std::find_if(parts_.rbegin(), parts_.rend(),
                                 [&](const RunState* each) { return each->first_step_ <= s; });
  absl::Status error = absl::InvalidArgumentError(
      absl::StrCat("index ", device_run_->index, " at position ", device_run_->position,
                   " is out of range for an axis of size ", device_run_->size));
  s -= (*part)->first_step_;
  for (const RunState* state = *part; state != nullptr; state = state->parent_) {
    const NodeId node = state->program_.steps[static_cast<size_t>(s)].node;
    error = Annotate(error, state->program_.graph.Describe(node));
    s = state->step_of_parent_;
  }
  return error;
}

std::vector<const void*> RunState::AddressesOf(const CapturedSteps& steps) const {
  std::vector<const void*> addresses;
  addresses.reserve(steps.callers.size());
  for (const int32_t slot : steps.callers)
    addresses.push_back(slots_[static_cast<size_t>(slot)].tensor.data);
  return addresses;
}

absl::StatusOr<bool> RunState::LaunchCaptured(CapturedSteps& steps) {
  if (top_->options_ != nullptr) ONWARD_RETURN_IF_ERROR(top_->CheckEnd());
  if (steps.refused) return false;
  // Memory that differs from run to run would be recorded again in each.
  Recording* recording = steps.Find(AddressesOf(steps));
  if (recording == nullptr) return false;
  if (recording->work == nullptr) {
    absl::StatusOr<std::unique_ptr<RecordedWork>> work = Capture(steps);
    if (!work.ok()) {
      steps.refused = true;  // an error of the steps themselves comes up again when they run
      return false;
    }
    recording->work = *std::move(work);
  }
  const Step& first = program_.steps[static_cast<size_t>(steps.begin)];
  ONWARD_RETURN_IF_ERROR(Annotate(
      program_.providers[first.device]->Launch(*recording->work, stream()),
      absl::StrCat("the recorded work from ", program_.graph.Describe(first.node), " on")));
  return true;
}

absl::StatusOr<std::unique_ptr<RecordedWork>> RunState::Capture(const CapturedSteps& steps) {
  const ExecutionProvider& provider =
      *program_.providers[program_.steps[static_cast<size_t>(steps.begin)].device];
  ONWARD_RETURN_IF_ERROR(provider.BeginCapture(stream()));
  const absl::Status status = RunSteps(steps.begin, steps.end);
  absl::StatusOr<std::unique_ptr<RecordedWork>> work = provider.EndCapture(stream());
  ONWARD_RETURN_IF_ERROR(status);
  return work;
}

}  // namespace onward::executors
