/* How many times as fast as the system's the clocks run; 1 until it is set. See clock_shim.c. */
#ifndef TESTS_CLOCK_SHIM_H
#define TESTS_CLOCK_SHIM_H

extern int clock_times;

#endif
