// The part of a run state that a device needs: recorded work, faults, waiting for the end.
#include "absl/strings/str_cat.h"
#include "executors/run_state.h"
#include "onward/communicator.h"
#include "onward/status.h"

namespace onward::executors {

absl::Status RunState::PrepareDeviceWork() {
  ends_on_device_ = false;
  if (parent_ != nullptr || program_.providers.size() == 1) return absl::OkStatus();
  if (fault_ == nullptr) {
    ONWARD_ASSIGN_OR_RETURN(fault_, program_.providers.back()->AllocateFault());
  }
  for (size_t s = 0; s < program_.steps.size(); ++s) {
    const Step& step = program_.steps[s];
    if (step.device == 0 || binding_->steps[s].mode == StepPlan::Mode::kSkip) continue;
    // A step that brings a result to the host waits for all work before it.
    ends_on_device_ = step.kernel->host_outputs() == 0;
  }
  return absl::OkStatus();
}

void RunState::BeginDeviceWork() {
  unfinished_ = ends_on_device_;
  if (fault_ != nullptr) *fault_ = DeviceFault();
  if (ran_) return;
  for (CapturedSteps& steps : captured_) steps.last = AddressesOf(steps);
}

// The caller's memory, which the work may use, may go next.
void RunState::AbandonDeviceWork() {
  if (fault_ != nullptr) WaitForDevice().IgnoreError();
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

absl::Status RunState::Finish() {
  if (unfinished_) ONWARD_RETURN_IF_ERROR(WaitForDevice());
  unfinished_ = false;
  if (fault_ == nullptr || fault_->step == 0) return absl::OkStatus();
  const Step& step = program_.steps[static_cast<size_t>(fault_->step - 1)];
  return Annotate(absl::InvalidArgumentError(
                      absl::StrCat("index ", fault_->index, " at position ", fault_->position,
                                   " is out of range for an axis of size ", fault_->size)),
                  program_.graph.Describe(step.node));
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
  std::vector<const void*> addresses = AddressesOf(steps);
  if (steps.graph == nullptr || addresses != steps.recorded) {
    // Memory that differs from run to run would be recorded again in each.
    if (addresses != steps.last) {
      steps.last = std::move(addresses);
      return false;
    }
    if (!Capture(steps).ok()) {
      steps.refused = true;  // an error of the steps themselves comes up again when they run
      return false;
    }
    steps.recorded = addresses;
  }
  steps.last = std::move(addresses);
  const Step& first = program_.steps[static_cast<size_t>(steps.begin)];
  ONWARD_RETURN_IF_ERROR(Annotate(
      program_.providers[first.device]->LaunchGraph(steps.graph.get(), stream()),
      absl::StrCat("the recorded work from ", program_.graph.Describe(first.node), " on")));
  return true;
}

absl::Status RunState::Capture(CapturedSteps& steps) {
  const ExecutionProvider& provider =
      *program_.providers[program_.steps[static_cast<size_t>(steps.begin)].device];
  ONWARD_RETURN_IF_ERROR(provider.BeginCapture(stream()));
  const absl::Status status = RunSteps(steps.begin, steps.end);
  absl::StatusOr<std::shared_ptr<void>> graph = provider.EndCapture(stream());
  ONWARD_RETURN_IF_ERROR(status);
  ONWARD_ASSIGN_OR_RETURN(steps.graph, std::move(graph));
  return absl::OkStatus();
}

}  // namespace onward::executors
