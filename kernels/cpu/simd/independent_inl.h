// Tells the compiler that no iteration of the loop that follows reads what another one wrote.
#pragma once

#if defined(__clang__)
#pragma clang diagnostic ignored "-Wpass-failed"  // builds of sanitizers keep single elements
#define ONWARD_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define ONWARD_INDEPENDENT _Pragma("GCC ivdep")
#endif
