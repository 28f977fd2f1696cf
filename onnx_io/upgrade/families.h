// The rules of each family of ops, in the file of its name.
#pragma once

#include "onnx_io/upgrade/rule.h"

namespace onward::onnx_io {

UpgradeRules ElementwiseUpgrades();
UpgradeRules SoftmaxUpgrades();
UpgradeRules ReduceUpgrades();
UpgradeRules LayoutUpgrades();
UpgradeRules PadUpgrades();
UpgradeRules GatherScatterUpgrades();
UpgradeRules NormalizationUpgrades();
UpgradeRules DropoutUpgrades();
UpgradeRules PoolUpgrades();
UpgradeRules ResizeUpgrades();
UpgradeRules RecurrentUpgrades();
UpgradeRules ControlFlowUpgrades();
UpgradeRules SignalUpgrades();
UpgradeRules LeftoverUpgrades();
UpgradeRules MlUpgrades();

}  // namespace onward::onnx_io
