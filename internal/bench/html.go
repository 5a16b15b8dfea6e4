package bench

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"strings"
)

//go:embed report.html
var page string

var pageTemplate = template.Must(template.New("report").Parse(page))

// colours of targets, in their order; told apart also without colour by their order in each chart.
var colours = []string{"#2f7d4f", "#c2572b", "#3a6ea5", "#8a5a9e", "#a68a1f", "#5b6b73"}

// HTML writes one page with charts that needs nothing else: no script, no font, no picture from elsewhere.
func (r *Report) HTML() ([]byte, error) {
	type chart struct {
		Title, Caption string
		SVG            template.HTML
	}
	type group struct {
		Title  string
		Charts []chart
		Rows   []map[string]any
	}
	type legend struct{ Name, Version, Colour string }
	data := struct {
		Summary     string
		Interrupted bool
		Legend      []legend
		Groups      []group
		Errors      []string
		Differences []string
	}{Summary: firstLine(r.summary("\n")), Interrupted: r.Interrupted, Errors: r.errorLines()}
	for i, t := range r.Targets {
		data.Legend = append(data.Legend, legend{t.Name, t.Version, colours[i%len(colours)]})
	}
	for _, d := range r.Differences {
		data.Differences = append(data.Differences, d.Error())
	}
	rows := r.table()
	for _, name := range Groups {
		g := group{Title: groupTitles[name]}
		var bars []bar
		for _, x := range rows {
			if x.group != name {
				continue
			}
			label := x.scenario
			if len(r.Options.Connections) > 1 && x.rows == 0 {
				label += fmt.Sprintf(", %d conn.", x.connections)
			}
			b := bar{label: label, title: x.title}
			var cells []map[string]any
			for i, c := range x.cells {
				b.values = append(b.values, 0)
				b.texts = append(b.texts, "")
				if c != nil && c.Skipped == "" && c.Rate > 0 {
					b.values[i], b.texts[i] = c.Rate, rateText(c.Rate)+"/s, p50 "+timeText(c.P50)
				}
				cells = append(cells, cellData(c))
			}
			bars = append(bars, b)
			g.Rows = append(g.Rows, map[string]any{"Scenario": label, "Title": x.title, "Connections": x.connections, "Cells": cells})
		}
		if len(bars) == 0 {
			continue
		}
		unit := "requests a second"
		if name == BulkG {
			unit = "rows a second"
		}
		g.Charts = append(g.Charts, chart{Title: g.Title + ": " + unit, Caption: "logarithmic; longer is better", SVG: barChart(bars)})
		data.Groups = append(data.Groups, g)
	}
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, data); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func cellData(c *Cell) map[string]any {
	if c == nil {
		return map[string]any{"Empty": true}
	}
	m := map[string]any{"Skipped": c.Skipped, "Rate": rateText(c.Rate), "P50": timeText(c.P50), "P95": timeText(c.P95), "P99": timeText(c.P99),
		"Variation": fmt.Sprintf("%.0f %%", c.Variation*100), "Ratio": "", "Errors": c.Errors, "Memory": ""}
	if c.Ratio > 0 {
		m["Ratio"], m["P50Ratio"] = ratioText(c.Ratio)+"×", ratioText(c.P50Ratio)+"×"
	}
	if c.OverFloor > 0 && c.Group != Floor {
		m["Floor"] = ratioText(c.OverFloor) + "× a round trip"
	}
	if c.Memory > 0 {
		m["Memory"] = fmt.Sprintf("%d MB (+%d)", c.Memory>>20, c.Growth>>20)
	}
	return m
}

// bar is the bars of all targets in one scenario.
type bar struct {
	label, title string
	values       []float64
	texts        []string
}

const (
	labelWidth = 190
	plotWidth  = 560
	textWidth  = 170
	barHeight  = 13
)

// barChart draws bars on a logarithmic scale whose ends are powers of ten.
func barChart(bars []bar) template.HTML {
	low, high := math.Inf(1), 0.0
	for _, b := range bars {
		for _, v := range b.values {
			if v > 0 {
				low, high = min(low, v), max(high, v)
			}
		}
	}
	if high == 0 {
		low, high = 1, 10
	}
	from := math.Floor(math.Log10(low)) - 0.001
	from = math.Floor(from)
	to := math.Ceil(math.Log10(high))
	if to <= from {
		to = from + 1
	}
	x := func(v float64) float64 { return labelWidth + (math.Log10(v)-from)/(to-from)*plotWidth }
	height := 24
	for _, b := range bars {
		height += len(b.values)*barHeight + 10
	}
	var s strings.Builder
	width := labelWidth + plotWidth + textWidth
	fmt.Fprintf(&s, `<svg viewBox="0 0 %d %d" role="img">`, width, height)
	for e := from; e <= to; e++ {
		at := x(math.Pow(10, e))
		fmt.Fprintf(&s, `<line class="grid" x1="%.1f" y1="16" x2="%.1f" y2="%d"/><text class="axis" x="%.1f" y="11">%s</text>`, at, at, height, at, power(int(e)))
	}
	y := 24
	for _, b := range bars {
		fmt.Fprintf(&s, `<text class="name" x="%d" y="%d">%s<title>%s</title></text>`, labelWidth-8, y+len(b.values)*barHeight/2+4, template.HTMLEscapeString(b.label), template.HTMLEscapeString(b.title))
		for i, v := range b.values {
			if v > 0 {
				fmt.Fprintf(&s, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/><text class="value" x="%.1f" y="%d">%s</text>`,
					labelWidth, y, max(1, x(v)-labelWidth), barHeight-2, colours[i%len(colours)], x(v)+4, y+barHeight-4, template.HTMLEscapeString(b.texts[i]))
			} else {
				fmt.Fprintf(&s, `<text class="none" x="%d" y="%d">–</text>`, labelWidth+4, y+barHeight-4)
			}
			y += barHeight
		}
		y += 10
	}
	s.WriteString("</svg>")
	return template.HTML(s.String())
}

// power writes a power of ten as people read it.
func power(e int) string {
	switch {
	case e < 0:
		return fmt.Sprintf("%g", math.Pow(10, float64(e)))
	case e >= 6:
		return fmt.Sprintf("%.0fM", math.Pow(10, float64(e-6)))
	case e >= 3:
		return fmt.Sprintf("%.0fk", math.Pow(10, float64(e-3)))
	}
	return fmt.Sprintf("%.0f", math.Pow(10, float64(e)))
}
