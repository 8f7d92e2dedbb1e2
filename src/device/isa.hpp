// What the processor's instruction set gives us, by name.
#pragma once

namespace trireme::device {

/// Makes the calling thread flush denormal results and operands to zero (where the processor can).
void flush_denormals();

/// Tells the processor that the calling thread is spinning.
void relax();

}  // namespace trireme::device
