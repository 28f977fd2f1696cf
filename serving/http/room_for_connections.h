// The descriptors of files that connections take: the system lets a process have so many.
#pragma once

#include "serving/http/http_handler.h"

namespace onward::serving {

// Raises the process's limit of open files for the connections of `limits` and what else a server
// opens. Where the system does not let it, lowers `limits` and returns false: without descriptors
// the server could neither take a connection nor read a model.
bool MakeRoomForConnections(HttpLimits& limits);

}  // namespace onward::serving
