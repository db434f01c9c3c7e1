// Marks what a shared Deltabloom library exports; everything else is hidden.
#ifndef DELTABLOOM_EXPORT_H_
#define DELTABLOOM_EXPORT_H_

#define DELTABLOOM_EXPORT __attribute__((visibility("default")))

#endif  // DELTABLOOM_EXPORT_H_
