package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/image/draw"

	"github.com/kindred-ml/kindred/internal/base/escape"
	"github.com/kindred-ml/kindred/internal/page/report"
)

// Sizes of the film's screen, in letters and pixels.
const (
	columns, rows = 104, 27
	letter, line  = 7.25, 17.0
	margin        = 16.0
	bar           = 30.0 // above the first line
	width, height = columns*letter + 2*margin, bar + rows*line + 2*margin
)

// Times of the film. Waits are cut short; the times that it shows are real.
const (
	maxWait    = 900 * time.Millisecond // between two lines of output
	typingTime = 1200 * time.Millisecond
	lookTime   = 6 * time.Second // at the sheet
	endTime    = 4 * time.Second
)

// shot is a line of the screen and the time at which it appears.
type shot struct {
	at    time.Duration
	text  string
	class string
}

// script plans the whole film: its lines, the times at which the sheet appears and
// disappears, and its length.
func (s *session) script() (shots []shot, sheet, gone, whole time.Duration) {
	now := 400 * time.Millisecond
	for i, c := range s.commands {
		shots = append(shots, shot{now, "$ " + c.line, "in"})
		now += typingTime
		var last time.Duration
		for _, p := range c.output {
			now += min(p.after-last, maxWait)
			last = p.after
			for _, part := range wrapLine(p.text) {
				shots = append(shots, shot{now, part, "out"})
			}
		}
		now += min(c.took-last, maxWait)
		shots = append(shots, shot{now, "(" + report.FormatDuration(c.took) + ")", "took"})
		now += 800 * time.Millisecond
		if i == 1 {
			sheet = now
			now += lookTime
			gone = now
		}
	}
	return shots, sheet, gone, now + endTime
}

// wrapLine cuts a line at the width of the screen.
func wrapLine(text string) []string {
	letters := []rune(escape.Text(strings.ReplaceAll(text, "\t", "    ")))
	var out []string
	for len(letters) > columns {
		cut := columns
		for cut > columns/2 && letters[cut] != ' ' {
			cut--
		}
		if cut == columns/2 {
			cut = columns
		}
		out = append(out, string(letters[:cut]))
		letters = append([]rune("  "), letters[cut:]...)
	}
	return append(out, string(letters))
}

// write writes the film.
func (s *session) write(w io.Writer) error {
	shots, sheet, gone, whole := s.script()
	share := func(t time.Duration) float64 { return 100 * t.Seconds() / whole.Seconds() }
	var css, body strings.Builder
	took := time.Duration(0)
	for _, c := range s.commands {
		took += c.took
	}
	// Lines appear, and the screen goes up when it is full.
	scroll := "@keyframes up{0%{transform:translateY(0)}"
	for i, h := range shots {
		fmt.Fprintf(&css, "@keyframes k%d{0%%{opacity:0}%.2f%%,100%%{opacity:1}}\n", i, share(h.at))
		fmt.Fprintf(&body, `<text class="%s" y="%g" xml:space="preserve" style="animation-name:k%d">%s</text>`+"\n",
			h.class,
			float64(i+1)*line, i, escape.HTML(h.text))
		if over := i + 1 - rows; over > 0 {
			scroll += fmt.Sprintf("%.2f%%{transform:translateY(%gpx)}", share(h.at), -float64(over)*line)
		}
	}
	last := -float64(max(0, len(shots)-rows)) * line
	scroll += fmt.Sprintf("100%%{transform:translateY(%gpx)}}\n", last)
	fmt.Fprintf(&css, "%s@keyframes sheet{0%%{opacity:0}%.2f%%{opacity:1}%.2f%%{opacity:0}100%%{opacity:0}}\n", scroll,
		share(sheet), share(gone))
	img, err := s.picture()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, filmSVG, width, height, width, height, whole.Seconds(), css.String(), last, width, height,
		margin, report.FormatDuration(took), width-margin, margin, bar, columns*letter, rows*line+margin,
		body.String(), img)
	return err
}

// filmSVG is the SVG of the film. If the reader does not want animations, it shows the
// end.
const filmSVG = `<svg xmlns="http://www.w3.org/2000/svg" width="%g" height="%g" viewBox="0 0 %g %g" role="img">
<title>A terminal: kindred train, search and report on a folder of photos, and the photos that the search found</title>
<style>
text{font:12px ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#cfd5de}
.in{fill:#fff;font-weight:700}.took,.head{fill:#8f99a8}
.lines text,.lines,.sheet{animation:%.2fs step-end infinite}
.lines{animation-name:up}.sheet{animation-name:sheet;opacity:0}
%s.lines{transform:translateY(%gpx)}
@media (prefers-reduced-motion:reduce){.lines,.lines text,.sheet{animation:none!important}.sheet{opacity:1}}
</style>
<rect width="%g" height="%g" rx="10" fill="#16181d"/>
<text class="head" x="%g" y="21">three commands, %s in all; waits are cut short, the times are real</text>
<text class="head" x="%g" y="21" text-anchor="end">kindred</text>
<svg x="%g" y="%g" width="%g" height="%g" overflow="hidden"><g class="lines">
%s</g></svg>
%s</svg>
`

// picture is the sheet over the screen.
func (s *session) picture() (string, error) {
	if len(s.sheet) == 0 {
		return "", nil
	}
	c, err := jpeg.DecodeConfig(bytes.NewReader(s.sheet))
	if err != nil {
		return "", err
	}
	w := width - 4*margin
	h := w * float64(c.Height) / float64(c.Width)
	y := max(bar+margin, height-margin-h-line)
	return fmt.Sprintf("<g class=\"sheet\"><rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" rx=\"8\" fill=\"#fff\"/>"+
		"<text x=\"%g\" y=\"%g\" style=\"fill:#333\">found/search.html</text>"+
		"<image x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" href=\"data:image/jpeg;base64,%s\"/></g>\n",
		2*margin-8, y-line-8, w+16, h+line+16, 2*margin, y-4, 2*margin, y, w, h,
		base64.StdEncoding.EncodeToString(s.sheet)), nil
}

// readSheet reads the picture of the search's results, in the size of the film at twice a
// screen's resolution.
func readSheet(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := png.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	w := min(m.Bounds().Dx(), 1400)
	small := image.NewRGBA(image.Rect(0, 0, w, m.Bounds().Dy()*w/m.Bounds().Dx()))
	draw.CatmullRom.Scale(small, small.Bounds(), m, m.Bounds(), draw.Src, nil)
	var b bytes.Buffer
	err = jpeg.Encode(&b, small, &jpeg.Options{Quality: 80})
	return b.Bytes(), err
}
