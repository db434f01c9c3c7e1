// Pictures of the figures, drawn by plot.py with Debian's matplotlib.
#ifndef DELTABLOOM_DB_BENCH_EXT_DEMO_PLOT_H_
#define DELTABLOOM_DB_BENCH_EXT_DEMO_PLOT_H_

#include <string>

namespace deltabloom::demo {

// Throws std::runtime_error, with what to do, if this machine cannot draw.
void RequirePlotting();

// Draws the figures, as JSON text, into a PNG file; throws std::runtime_error.
void DrawPlot(const std::string& json, const std::string& png_path);

}  // namespace deltabloom::demo

#endif  // DELTABLOOM_DB_BENCH_EXT_DEMO_PLOT_H_
