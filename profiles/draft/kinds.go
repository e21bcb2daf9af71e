package draft

// kind is a kind of link: what its document has anyway, and what is asked.
type kind struct {
	name      string
	document  map[string]any
	questions []Question
}

// table is a table of a document.
type table = map[string]any

func ask(text, standard string, as reading, paths ...string) Question {
	return Question{Text: text, Default: standard, as: as, paths: paths}
}

// Questions that several kinds ask.
var (
	rates = []Question{
		ask("Rate towards the device", "20Mbit/s", asText, "down.queue.rate"),
		ask("Rate from the device", "2Mbit/s", asText, "up.queue.rate"),
	}
	trip    = ask("Round trip without queueing", "40ms", asHalf, "down.path.delay", "up.path.delay")
	losses  = ask("Loss each way, percent", "0", asPercent, "down.loss.probability", "up.loss.probability")
	network = ask("Round trip of the network behind it", "20ms", asHalf, "down.path.delay", "up.path.delay")
	sites   = []Question{
		ask("Satellite, degrees East", "116", asNumber, "geo.satellite"),
		ask("Terminal: latitude, degrees North", "37.5665", asNumber, "geo.terminal.lat"),
		ask("Terminal: longitude, degrees East", "126.978", asNumber, "geo.terminal.lon"),
		ask("Gateway: latitude, degrees North", "36.3504", asNumber, "geo.gateway.lat"),
		ask("Gateway: longitude, degrees East", "127.3845", asNumber, "geo.gateway.lon"),
	}
	processing = table{"satellite": 116.0, "terminal": table{"lat": 37.5665, "lon": 126.978}, "gateway": table{"lat": 36.3504, "lon": 127.3845},
		"terminal_processing": "10ms", "gateway_processing": "15ms"}
)

// kinds are those that can be asked for, by the names of the shipped families.
var kinds = []kind{
	{"terrestrial", table{"about": "A line of constant rate and delay."},
		join(rates, trip, losses)},
	{"geo", table{"about": "A geostationary satellite link of constant rate.", "geo": processing},
		join(sites, rates, losses)},
	{"dvbrcs", table{"about": "A DVB-RCS2 terminal: it asks for capacity across the satellite.", "geo": processing,
		"down": table{"queue": table{"rate": "20Mbit/s"}}, "dama": table{"station": table{"period": 1}}},
		join(sites, rates[:1], []Question{
			ask("Constant rate of the terminal (CRA)", "64kbit/s", asText, "dama.station.cra"),
			ask("Most it may ask as a rate (RBDC)", "512kbit/s", asText, "dama.station.rbdc_max"),
			ask("Superframe", "26.5ms", asText, "dama.superframe"),
		})},
	{"leo", table{"about": "Satellites in low orbit, changed every 15 s.", "leo": table{"spread": 1.6, "burst": 0.3,
		"spike_least": "30ms", "spike_most": "80ms", "lead": "140ms", "burst_least": "50ms", "burst_most": "300ms", "burst_loss_least": 0.5}},
		[]Question{
			ask("Altitude, km", "550", asNumber, "leo.altitude"),
			ask("Median rate towards the device", "150Mbit/s", asText, "leo.down"),
			ask("Median rate from the device", "15Mbit/s", asText, "leo.up"),
			ask("Least delay of the ground, one way", "10ms", asText, "leo.ground_least"),
			ask("Greatest delay of the ground, one way", "30ms", asText, "leo.ground_most"),
		}},
	{"lte", table{"about": "A UE in an LTE cell.", "lte": table{}},
		[]Question{
			ask("Bandwidth in resource blocks (6 to 100; 100 is 20 MHz)", "50", asWhole, "lte.prb"),
			ask("SINR down, dB", "18", asNumber, "lte.down.sinr_db"),
			ask("SINR up, dB", "14", asNumber, "lte.up.sinr_db"),
			ask("Speed, km/h", "3", asNumber, "lte.down.speed_kmh", "lte.up.speed_kmh"),
			ask("Shadowing, dB", "4", asNumber, "lte.down.shadowing_db", "lte.up.shadowing_db"),
			network,
		}},
	{"nr", table{"about": "A device in a 5G cell.",
		"nr":   table{"request": "10ms", "down": table{"bler": 0.1, "overhead": 0.14}, "up": table{"bler": 0.1, "overhead": 0.08}},
		"down": table{"queue": table{"limit": "4MiB"}}, "up": table{"queue": table{"limit": "1MiB"}}},
		[]Question{
			ask("Numerology (0: 15 kHz, 1: 30 kHz, 2: 60 kHz, 3: 120 kHz)", "1", asWhole, "nr.numerology"),
			ask("Bandwidth in resource blocks (273 are 100 MHz at 30 kHz)", "273", asWhole, "nr.prb"),
			ask("Slots of the TDD pattern (D, U, S), or FDD", "DDDSU", asPattern, "nr.pattern"),
			ask("Share of the cell, percent", "50", asPercent, "nr.share"),
			ask("SINR down, dB", "20", asNumber, "nr.down.sinr"),
			ask("SINR up, dB", "12", asNumber, "nr.up.sinr"),
			ask("Layers down", "2", asWhole, "nr.down.layers"),
			ask("Layers up", "1", asWhole, "nr.up.layers"),
			network,
		}},
	{"wlan", table{"about": "A wireless LAN: shadowing, and tries again."},
		[]Question{
			ask("Rate, without tries again", "20Mbit/s", asText, "down.wlan.rate", "up.wlan.rate"),
			ask("Distance, m", "50", asNumber, "down.wlan.distance_m", "up.wlan.distance_m"),
			ask("Buffer", "60packets", asText, "down.wlan.limit", "up.wlan.limit"),
			network,
		}},
}

func join(lists ...any) (all []Question) {
	for _, l := range lists {
		switch l := l.(type) {
		case Question:
			all = append(all, l)
		case []Question:
			all = append(all, l...)
		}
	}
	return all
}
