/* page_assets.c - see page_assets.h: the file from its first byte to its last. */
#include "analyze/page/page_assets.h"

/* Made by embed.cmake. */
extern const unsigned char vt_page_uplot_css[], vt_page_uplot_js[], vt_page_uplot_license[];
extern const unsigned char vt_page_style[], vt_page_program[];
extern const size_t vt_page_uplot_css_bytes, vt_page_uplot_js_bytes, vt_page_uplot_license_bytes;
extern const size_t vt_page_style_bytes, vt_page_program_bytes;

/* The policy: no network, no frames, nothing but what is in the file. */
#define HEAD                                                                                                           \
	"<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"                                      \
	"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; "      \
	"style-src 'unsafe-inline'; img-src data:\">\n"                                                                \
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"                                   \
	"<meta name=\"color-scheme\" content=\"light dark\">\n<title>vramtrace</title>\n"

const struct vt_page_asset vt_page_assets[] = {
	{ HEAD "<style>\n", vt_page_uplot_css, &vt_page_uplot_css_bytes, false },
	{ "\n</style>\n<style>\n", vt_page_style, &vt_page_style_bytes, false },
	{ "\n</style>\n</head>\n<body>\n<noscript>This page is a program: it needs JavaScript.</noscript>\n<!--\n"
	  "uPlot 1.6.32, https://github.com/leeoniya/uPlot\n\n",
	  vt_page_uplot_license, &vt_page_uplot_license_bytes, false },
	{ "\n-->\n<script id=\"data\" type=\"text/plain\">", NULL, NULL, true },
	{ "</script>\n<script>\n", vt_page_uplot_js, &vt_page_uplot_js_bytes, false },
	{ "\n</script>\n<script>\n", vt_page_program, &vt_page_program_bytes, false },
	{ "</script>\n</body>\n</html>\n", NULL, NULL, false },
	{ NULL, NULL, NULL, false },
};
