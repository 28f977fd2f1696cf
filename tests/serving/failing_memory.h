// Memory that runs out: the test program's operator new fails when it is told to, and calls the
// new-handler, after which so much is free that 20,000 allocations succeed.
#pragma once

namespace onward::testing {

// The allocation of number `number`, from 0, that this thread makes from now on fails, and with
// `all` those behind it.
void FailHere(int number, bool all);
// The same of what all other threads make together.
void FailElsewhere(int number, bool all);
// Returns whether one has failed since.
bool HasFailed();
// No allocation fails any more. Returns whether one did since memory was told to fail.
bool StopFailing();

}  // namespace onward::testing
