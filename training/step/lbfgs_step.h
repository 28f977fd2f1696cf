// A step of LBFGS: its batches are read once, and evaluated at the points that it asks for.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "training/optimizers/lbfgs.h"
#include "training/step/step.h"

namespace onward::training {

class LbfgsStep : public TrainingStep {
 public:
  // InvalidArgument: options that LBFGS does not know, and settings that it does not go with
  // (groups of parameters, averages, a scaled loss).
  static absl::StatusOr<std::unique_ptr<TrainingStep>> Create(const StepContext& context);

  absl::StatusOr<bool> Make(StepReport& report) override;
  absl::Status Begin() override;
  absl::Status Undo() override;
  absl::Status CheckExport() const override;
  Tensors State() const override { return lbfgs_.State(); }
  absl::Status SetState(const Tensors& state) override { return lbfgs_.SetState(state); }

 private:
  // A batch, what of it the model is given, and where it is from.
  struct GivenBatch {
    Batch batch;
    BatchSlice slice;
    Session::Inputs inputs;
    BatchPlaces places;
  };

  LbfgsStep(const StepContext& context, const Lbfgs::Options& options)
      : context_(context), lbfgs_(options) {}

  absl::StatusOr<std::vector<GivenBatch>> ReadBatches(StepReport& report);
  absl::StatusOr<Tensors> Parameters() const;
  absl::Status SetParameters(const Tensors& values);
  // Loss and gradients at the parameters `at`; `report`: of the first evaluation, else null.
  absl::StatusOr<Lbfgs::Evaluation> Evaluate(const std::vector<GivenBatch>& batches,
                                             const Tensors& at, StepReport* report);

  const StepContext context_;
  Lbfgs lbfgs_;
  // As Begin found them.
  std::optional<Lbfgs> lbfgs_before_;
  Tensors before_;
};

}  // namespace onward::training
