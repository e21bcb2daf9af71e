package document

import (
	"strconv"
	"strings"
)

// Place is where something stands in a document: line, and column in bytes,
// both from 1.
type Place struct {
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// indexTOML returns the place of each key and table of a TOML document that
// is known to parse: "down.queue.rate" → 12:1, "timeline[1]" → 30:1. The
// library gives positions only for errors of syntax.
func indexTOML(src string) map[string]Place {
	s := newScanner(src)
	current := ""
	for s.blank(true); s.pos < len(s.src); s.blank(true) {
		before := s.pos
		if s.src[s.pos] == '[' {
			current = s.header()
		} else {
			s.pair(current)
		}
		if s.pos == before {
			s.pos++
		}
	}
	for path, at := range s.implied {
		s.note(path, at)
	}
	return s.at
}

// indexJSON is indexTOML for a JSON object, whose grammar differs in the
// sign between key and value alone.
func indexJSON(src string) map[string]Place {
	s := newScanner(src)
	if s.blank(true); s.pos < len(s.src) && s.src[s.pos] == '{' {
		s.group('}', func() { s.pair("") })
	}
	return s.at
}

// scanner walks a document and notes where keys stand.
type scanner struct {
	src       string
	pos, line int
	at        map[string]Place
	implied   map[string]Place // tables that are there only as those around others
	arrays    map[string]int   // elements so far of each array of tables
}

func newScanner(src string) *scanner {
	return &scanner{src: src, line: 1, at: map[string]Place{}, implied: map[string]Place{}, arrays: map[string]int{}}
}

// here returns the place at which the scanner stands.
func (s *scanner) here() Place {
	return Place{s.line, s.pos - strings.LastIndexByte(s.src[:s.pos], '\n')}
}

// blank skips spaces and comments, and line ends too when asked.
func (s *scanner) blank(lineEnds bool) {
	for s.pos < len(s.src) {
		switch c := s.src[s.pos]; {
		case c == ' ' || c == '\t' || c == '\r':
			s.pos++
		case c == '\n' && lineEnds:
			s.line++
			s.pos++
		case c == '#':
			s.skipTo("\n")
		default:
			return
		}
	}
}

// skipTo moves to the next occurrence of mark, or to the end.
func (s *scanner) skipTo(mark string) {
	n := strings.Index(s.src[s.pos:], mark)
	if n < 0 {
		n = len(s.src) - s.pos
	}
	s.line += strings.Count(s.src[s.pos:s.pos+n], "\n")
	s.pos += n
}

// header reads "[a.b]" or "[[a.b]]" and returns the table's path.
func (s *scanner) header() string {
	array := strings.HasPrefix(s.src[s.pos:], "[[")
	place := s.here()
	s.pos++
	if array {
		s.pos++
	}
	keys := s.keys()
	s.skipTo("\n")
	path := ""
	for i, k := range keys {
		path = Join(path, k)
		if i == len(keys)-1 && array {
			s.arrays[path]++
		}
		if n := s.arrays[path]; n > 0 {
			path += "[" + strconv.Itoa(n-1) + "]"
		}
		if _, ok := s.implied[path]; !ok {
			s.implied[path] = place
		}
	}
	s.note(path, place)
	return path
}

func (s *scanner) note(path string, at Place) {
	if _, ok := s.at[path]; !ok {
		s.at[path] = at
	}
}

// keys reads a dotted key: a.b."c d".
func (s *scanner) keys() []string {
	var keys []string
	for {
		s.blank(false)
		start := s.pos
		if s.pos < len(s.src) && (s.src[s.pos] == '"' || s.src[s.pos] == '\'') {
			s.text()
			keys = append(keys, strings.Trim(s.src[start:s.pos], `"'`))
		} else {
			for s.pos < len(s.src) && !strings.ContainsRune(" \t\r\n.=:[]{},#\"'", rune(s.src[s.pos])) {
				s.pos++
			}
			keys = append(keys, s.src[start:s.pos])
		}
		s.blank(false)
		if s.pos >= len(s.src) || s.src[s.pos] != '.' {
			return keys
		}
		s.pos++
	}
}

// pair reads "key = value" in the table at path.
func (s *scanner) pair(path string) {
	place := s.here()
	for _, k := range s.keys() {
		path = Join(path, k)
		s.note(path, place)
	}
	if s.blank(false); s.pos < len(s.src) && (s.src[s.pos] == '=' || s.src[s.pos] == ':') {
		s.pos++
		s.value(path)
	}
}

// value reads the value of the key at path and notes keys inside it.
func (s *scanner) value(path string) {
	s.blank(false)
	if s.pos >= len(s.src) {
		return
	}
	switch s.src[s.pos] {
	case '"', '\'':
		s.text()
	case '[':
		n := 0
		s.group(']', func() {
			element := path + "[" + strconv.Itoa(n) + "]"
			s.note(element, s.here())
			s.value(element)
			n++
		})
	case '{':
		s.group('}', func() { s.pair(path) })
	default:
		for s.pos < len(s.src) && !strings.ContainsRune(",]}\n#", rune(s.src[s.pos])) {
			s.pos++
		}
	}
}

// group reads comma-separated items up to the closing bracket.
func (s *scanner) group(closing byte, item func()) {
	s.pos++
	for s.blank(true); s.pos < len(s.src) && s.src[s.pos] != closing; s.blank(true) {
		before := s.pos
		if s.src[s.pos] == ',' {
			s.pos++
			continue
		}
		if item(); s.pos == before {
			s.pos++
		}
	}
	s.pos = min(s.pos+1, len(s.src))
}

// text skips a string of any of the four kinds.
func (s *scanner) text() {
	quote := s.src[s.pos : s.pos+1]
	if triple := strings.Repeat(quote, 3); strings.HasPrefix(s.src[s.pos:], triple) {
		s.pos += 3
		s.skipString(triple, quote == `"`)
		return
	}
	s.pos++
	s.skipString(quote, quote == `"`)
}

// skipString moves behind the closing mark; a backslash escapes the next
// character of a basic string.
func (s *scanner) skipString(mark string, escapes bool) {
	for s.pos < len(s.src) {
		switch {
		case escapes && s.src[s.pos] == '\\':
			if strings.HasPrefix(s.src[s.pos:], "\\\n") {
				s.line++
			}
			s.pos = min(s.pos+2, len(s.src))
		case strings.HasPrefix(s.src[s.pos:], mark):
			s.pos += len(mark)
			// Up to two quotes may stand before the closing three.
			for len(mark) == 3 && strings.HasPrefix(s.src[s.pos:], mark[:1]) {
				s.pos++
			}
			return
		default:
			if s.src[s.pos] == '\n' {
				s.line++
			}
			s.pos++
		}
	}
}

// nestingMost bounds tables in tables and the words of a dotted key. Ours
// have five; the library needs time and memory with the square of the depth,
// ten gigabytes for a document of 200 kB.
const nestingMost = 32

// tooDeep returns the place at which a document of either kind, which need
// not parse, nests deeper than nestingMost; zero if it does not.
func tooDeep(src string) Place {
	s := scanner{src: src, line: 1}
	depth, dots := 0, 0
	for s.blank(false); s.pos < len(s.src); s.blank(false) {
		switch s.src[s.pos] {
		case '"', '\'':
			s.text()
			continue
		case '[', '{':
			depth++
		case ']', '}':
			depth--
		case '.':
			dots++
		case '=', ',':
			dots = 0
		case '\n':
			dots = 0
			s.line++
		}
		if max(depth, dots) > nestingMost {
			return s.here()
		}
		s.pos++
	}
	return Place{}
}
