package lines

import (
	"slices"
	"strings"
)

// Columns maps the names of a header row to their places.
func (l *Reader) Columns(known ...string) (map[string]int, error) {
	at := map[string]int{}
	for i, f := range l.Split(',') {
		name := strings.ToLower(f.Text)
		if _, twice := at[name]; twice {
			return nil, l.Fault(f.Column, "column %q stands twice", f.Text)
		}
		if len(known) > 0 && !slices.Contains(known, name) {
			return nil, l.Fault(f.Column, "unknown column %q: want %s", f.Text, strings.Join(known, ", "))
		}
		at[name] = i
	}
	return at, nil
}

// Need checks that a header has the columns.
func (l *Reader) Need(at map[string]int, names ...string) error {
	for _, name := range names {
		if _, ok := at[name]; !ok {
			return l.Fault(1, "no column %q: want %s", name, strings.Join(names, ","))
		}
	}
	return nil
}

// Rows reads a table of which the first line is the header: row is called
// with a function that returns the field of a column, empty if the table has
// no such column.
func (l *Reader) Rows(head func(at map[string]int) error, row func(get func(name string) Field) error, known ...string) error {
	var at map[string]int
	for l.Next() {
		if l.Skippable() {
			continue
		}
		if at == nil {
			var err error
			if at, err = l.Columns(known...); err == nil {
				err = head(at)
			}
			if err != nil {
				return err
			}
			continue
		}
		fields := l.Split(',')
		if len(fields) != len(at) {
			return l.Fault(0, "%d fields, want %d as in the header", len(fields), len(at))
		}
		get := func(name string) Field {
			if i, ok := at[name]; ok {
				return fields[i]
			}
			return Field{}
		}
		if err := row(get); err != nil {
			return err
		}
	}
	if l.Err == nil && at == nil {
		return l.Whole("no header row")
	}
	return l.Err
}
