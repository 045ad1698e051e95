/* Attributes for the compiler, for functions whose result counts. */
#ifndef FENCE_BASE_CHECKED_H
#define FENCE_BASE_CHECKED_H

/* The caller must check the result. */
#define FENCE_CHECKED __attribute__((warn_unused_result))

#endif
