// The namespace of the instruction set that a file is compiled for; generic where nobody says otherwise.
#pragma once

#include <cstddef>
#include <cstdint>

#ifndef TRIREME_ISA
#define TRIREME_ISA generic
#endif

#define TRIREME_INLINE [[gnu::always_inline]] inline
