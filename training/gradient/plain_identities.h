// Ops of the domain `onward` that trainings put into graphs and that are Identity in a run.
#pragma once

#include "onward/graph.h"

namespace onward::training {

// StopGradient, RequireShape and RequireRange become Identity, in bodies too: for graphs that other
// runtimes run, after their gradients are made.
void MakePlainIdentities(Graph& graph);

}  // namespace onward::training
