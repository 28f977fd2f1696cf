// ONWARD_SANITIZED: the program is built with ASan or TSan, by GCC or clang.
#pragma once

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define ONWARD_SANITIZED 1
#elif defined(__has_feature)  // clang's way
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define ONWARD_SANITIZED 1
#endif
#endif
