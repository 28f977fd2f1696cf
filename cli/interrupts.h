// SIGINT, SIGTERM and SIGHUP.
#pragma once

namespace onward::cli {

// From now on each of them ends the process with 128 + its number (docs/cli.md); files that are not
// complete are removed. SIGHUP stays ignored where it is, as under nohup.
void EndOnInterrupts();

// From now on the first of them is noted, for a command that has work to save, and announced on
// stderr unless another process does that; the second ends the process.
void NoteInterrupts(bool announce = true);

// From now on a pipe whose reader is gone does not end the process, as that of `| tee log` is after
// Ctrl-C.
void IgnoreBrokenPipes();

// The number of the signal that was noted; 0: none.
int Interrupted();

}  // namespace onward::cli
