// The instructions of AMX as plain code, in place of those of kernels/cpu/simd/amx_inl.h: the loops
// for AMX are compiled and run where the processor lacks it. What would raise an exception of the
// processor ends the program with a message. Each thread has registers of its own.
//
// After the Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2: LDTILECFG,
// TILELOADD, TILESTORED, TILEZERO, TILERELEASE, TDPBF16PS and TDPBUSD.
#pragma once

#include <cstdint>

namespace onward::tile_model {

void Configure(const void* config);  // 64 bytes
void Release();
void Zero(int tile);
void Load(int tile, const void* from, int64_t stride);
void Store(int tile, void* to, int64_t stride);
void AddBf16(int sums, int a, int b);
void AddBytes(int sums, int a, int b);

// The number of products that all threads have added.
int64_t Products();

}  // namespace onward::tile_model

#define ONWARD_TILE_CONFIGURE(config) ::onward::tile_model::Configure(&(config))
#define ONWARD_TILE_RELEASE() ::onward::tile_model::Release()
#define ONWARD_TILE_ZERO(t) ::onward::tile_model::Zero(t)
#define ONWARD_TILE_LOAD(t, from, stride) ::onward::tile_model::Load(t, from, stride)
#define ONWARD_TILE_STORE(t, to, stride) ::onward::tile_model::Store(t, to, stride)
#define ONWARD_TILE_ADD_BF16(sums, a, b) ::onward::tile_model::AddBf16(sums, a, b)
#define ONWARD_TILE_ADD_BYTES(sums, a, b) ::onward::tile_model::AddBytes(sums, a, b)
