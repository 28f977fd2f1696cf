// Memory that a server keeps for the moment when the process finds none.
#pragma once

namespace onward::serving {

// Keeps a reserve, and gives it back to the allocator the first time that operator new finds no
// memory: what takes little then still succeeds, as do destructors that allocate (those of JSON
// documents), while what takes much fails with bad_alloc and is refused. Replaces the process's
// new-handler; until Refill has filled the reserve again, bad_alloc is thrown at once. Thread-safe.
void KeepMemoryReserve();
// Fills the reserve again where there is memory for it. Does nothing without KeepMemoryReserve.
void RefillMemoryReserve();

}  // namespace onward::serving
