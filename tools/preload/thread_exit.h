#pragma once

namespace penstock::tools {

/// Has the Python of this process, which runs already, call `leave` where it calls pthread_exit().
/// A library that is loaded before Python needs none of this: its function is found first.
void redirect_thread_exit(void (*leave)(void*));

}  // namespace penstock::tools
