package raster

import (
	"image/color"
	"strconv"
	"strings"
)

// sheet is a style: what each selector, "text" or ".s0", says, in order.
type sheet []rule

type rule struct {
	selector string
	says     map[string]string
}

// parseStyle reads the style of a figure: rules of one selector each, and one
// block of rules for dark ground.
func parseStyle(text string, dark bool) sheet {
	light, night, _ := strings.Cut(text, "@media")
	s := parseRules(light)
	if _, rules, ok := strings.Cut(night, "{"); ok && dark {
		s = append(s, parseRules(rules)...)
	}
	return s
}

func parseRules(text string) sheet {
	var s sheet
	for _, one := range strings.Split(text, "}") {
		selector, body, ok := strings.Cut(one, "{")
		if !ok {
			continue
		}
		r := rule{strings.TrimSpace(selector), map[string]string{}}
		for _, d := range strings.Split(body, ";") {
			if name, value, ok := strings.Cut(d, ":"); ok {
				r.says[strings.TrimSpace(name)] = strings.TrimSpace(value)
			}
		}
		s = append(s, r)
	}
	return s
}

// of returns what holds for an element: the rules of its name, then those of
// its classes, which go before; of two the later.
func (s sheet) of(name string, classes []string) map[string]string {
	look := map[string]string{}
	for _, byClass := range []bool{false, true} {
		for _, r := range s {
			class, isClass := strings.CutPrefix(r.selector, ".")
			if isClass != byClass || !isClass && class != name || isClass && !has(classes, class) {
				continue
			}
			for k, v := range r.says {
				look[k] = v
			}
		}
	}
	return look
}

func has(list []string, s string) bool {
	for _, one := range list {
		if one == s {
			return true
		}
	}
	return false
}

// paint is a colour with opacity.
type paint struct{ color.NRGBA }

// parsePaint reads "#abc" or "#aabbcc"; ok is false for none.
func parsePaint(text, opacity string) (p paint, ok bool) {
	hex, ok := strings.CutPrefix(text, "#")
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	n, err := strconv.ParseUint(hex, 16, 24)
	if !ok || len(hex) != 6 || err != nil {
		return p, false
	}
	share := 1.0
	if opacity != "" {
		if share, err = strconv.ParseFloat(opacity, 64); err != nil || !(share >= 0 && share <= 1) {
			return p, false
		}
	}
	return paint{color.NRGBA{uint8(n >> 16), uint8(n >> 8), uint8(n), uint8(share*255 + 0.5)}}, true
}

// length reads "14px" or "1.5".
func length(text string, otherwise float64) float64 {
	x, err := strconv.ParseFloat(strings.TrimSuffix(text, "px"), 64)
	if err != nil || !(x >= 0 && x < 1e4) {
		return otherwise
	}
	return x
}
