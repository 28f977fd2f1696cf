// What a run of a training phase says. Included by trainer*.cc alone.
#pragma once

#include "executors/session.h"
#include "training/trainer.h"

namespace onward {

double Now();  // seconds of a steady clock

double LossOf(const Session::Outputs& outputs);

// Norms and values of gradients, where the phase has them.
void ReadGradients(const Session::Outputs& outputs, StepReport& report);

}  // namespace onward
