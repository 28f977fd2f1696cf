// The version of Onward. Within one minor version headers change only by additions; a program that
// was compiled against one patch version links another.
#pragma once

#define ONWARD_VERSION_MAJOR 0
#define ONWARD_VERSION_MINOR 3
#define ONWARD_VERSION_PATCH 0
