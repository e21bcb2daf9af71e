// The documents of the API, from docs/openapi.yaml. TestTypes writes this file.

export interface Applied {
  /** When it took effect; absent on a dry run. */
  applied_at?: string
  /** Whether anything had to be changed. */
  changed: boolean
  /** What the links promise: to be held against the frames that come, or why not. /status has what was seen. */
  checks?: (Check)[]
  dry_run?: boolean
  /** Whether the link is as asked. */
  effective: boolean
  /** Version of the want that is now in force. */
  etag: string
  /** Whether no frame was lost or reordered by the change. */
  hitless: boolean
  links: (LinkState)[]
  /** Why the link is not as asked. */
  not_effective?: string
  want: Want
  /** What works but is probably not meant. */
  warnings?: (Problem)[]
}

export interface CaptureSaved {
  id: string
  pair: string
  /** What the trigger met. */
  why: string
}

export interface CaptureState {
  /** Frames are kept, the last 30 s of them. */
  armed: boolean
  /** Of their first 216 bytes each. */
  bytes: number
  /** Frames that passed too quickly to be kept. */
  missed_packets: number
  /** Frames kept now. */
  packets: number
  /** Ids of the captures that triggers saved, oldest first. */
  saved: (string)[]
  /** Time of the oldest. */
  since?: string
  /** What is waited for. */
  trigger?: CaptureTrigger
}

export interface CaptureTrigger {
  /** A frame lost for this reason, as metrics name it. */
  lost?: string
  /** A frame with this mark. */
  mark?: "ce" | "corrupted" | "duplicate" | "reordered"
  /** The delivered rate of the last second rises above this. */
  rate_above?: string
  /** The delivered rate of the last second falls below this, having been there. */
  rate_below?: string
  /** The link's round trip, propagation and queues of both ways, exceeds this. */
  rtt_above?: string
  /** A mark with this text is put into a run of the pair; * is any. */
  run_mark?: string
  /** How long to go on after it, up to 20s; 5s when not given. */
  wait?: string
  /** Whose delivered rate is looked at; down when not given. */
  way?: "down" | "up"
}

export interface CaptureWish {
  /** Keep frames. */
  armed: boolean
  /** Save a capture when this happens. */
  trigger?: CaptureTrigger
}

export interface Carriage {
  /** Of mode wire: what a connection may queue; twice what the paths hold by their rates and round trips when not given, 1MB where these are not known. */
  buffer?: string
  /** Congestion control of the subflows; auto when not given: bbr, and over long round trips of mode lab cubic. */
  congestion?: string
  /** off routes by one path; wire is MPTCP on the paths; lab is farlink's own relay, which is not MPTCP. */
  mode: "off" | "wire" | "lab"
  /** What one path is to do, by name. */
  paths?: Record<string, PathWant>
  /** Ports of servers whose TCP connections are carried over all paths; 80, 443, 5001, 5201 and 8080 when not given. */
  ports?: (number)[]
  /** Which path takes what is routed; the first that matches. All else takes the best path that is up. */
  rules?: (PathRule)[]
  /** Of mode lab: minrtt, roundrobin, redundant, blest, ecf, arrival (when not given). The kernel's own in mode wire. */
  scheduler?: string
  /** Of mode lab: bytes in flight each way; by the rates and round trips of the paths when not given, at least 8MiB. */
  window?: string
}

export interface CarriedTotals {
  /** Connections of mode wire that were plain TCP in the end. */
  fallbacks: number
  /** Connections carried over all paths. */
  opened: number
  /** Connections that servers refused or did not answer. */
  refused: number
  /** Chunks of mode lab that were sent by a second path. */
  reinjected_chunks: number
  /** Connections of mode lab that ended otherwise than properly. */
  resets: number
  /** Subflows of mode lab that were turned away: wrong key, replayed, another version. */
  strangers: number
}

export interface Certificate {
  /** As browsers show it. */
  fingerprint_sha256: string
  issuer: string
  /** Names and addresses that it is for. */
  names: (string)[]
  /** When it ends. */
  until: string
}

export interface CertificateWish {
  /** PEM; the certificates of its issuers may follow. */
  certificate: string
  /** PEM, without a passphrase. It is never shown again. */
  key: string
}

export interface Check {
  link: string
  /** What is promised and what was seen; or why it is not checked. */
  text: string
  way: "down" | "up"
  what: "delay" | "rate" | "jitter" | "loss" | "duplicate" | "reorder" | "corrupt" | "frames"
  word: "kept" | "broken" | "waiting" | "unchecked"
}

export interface Claim {
  /** The code on the box's console. */
  code: string
  /** At least 10 bytes. */
  password: string
}

export interface Connection {
  client: string
  /** In mode wire: it is plain TCP, since the device or something between does not speak MPTCP. */
  fallback: boolean
  /** The mode in which it began. */
  mode: "wire" | "lab"
  /** linux-default in mode wire. */
  scheduler: string
  server: string
  subflows: (Subflow)[]
}

export interface Counts {
  dropped: number
  errors: number
  fast_open: number
  local: number
  no_listener: number
  over_limit: number
  passed: number
  replayed: number
  sent: number
  split: number
}

export interface Disruption {
  begins?: string
  /** How many cuts a flap has. */
  count?: number
  /** How deep a fade is, up to 60 dB; the main link must have a carrier. */
  db?: number
  /** How long each cut of a flap lasts. */
  down?: string
  /** How long a cut, a fade or the interruption of a handover lasts. */
  duration?: string
  ends?: string
  /** cut, flap, fade or handover */
  kind: string
  /** How long a fade takes to come, and to go. */
  ramp?: string
  /** How long frames pass between the cuts of a flap. */
  up?: string
}

export interface EngineState {
  /** How frames are moved: native or generic XDP, zero-copy or copy. */
  driver?: string
  /** Why the slower, generic XDP is used, where it is. */
  driver_why?: string
  /** What the last of these was. */
  fault?: string
  /** How often frames passed that the links did not shape, or could have: the engine hung or was gone. */
  faults: number
  /** The box's own latency, measured before the ports were opened. */
  floor?: Floor
  /** Process, 0 while it does not run. */
  pid?: number
  /** How often it had to be started again. */
  restarts: number
  started?: string
}

export interface Entry {
  after?: any
  before?: any
  /** Another's lease was overridden. */
  forced?: boolean
  /** Address the request came from. */
  from: string
  id: number
  /** What it was done to. */
  on?: string
  /** HTTP status of the answer. */
  status: number
  time: string
  /** The operation. */
  what: string
  /** Token or user; empty on an open bench. */
  who: string
}

export interface ErrorDetail {
  /** Where the error occurred, e.g. 'body.items[3].tags' or 'path.thing-id' */
  location?: string
  /** Error message text */
  message?: string
  /** The value at the given location */
  value?: any
}

export interface ErrorModel {
  /** A human-readable explanation specific to this occurrence of the problem. */
  detail?: string
  /** Optional list of individual error details */
  errors?: (ErrorDetail)[]
  /** A URI reference that identifies the specific occurrence of the problem. */
  instance?: string
  /** HTTP status code */
  status?: number
  /** A short, human-readable summary of the problem type. This value should not change between occurrences of the error. */
  title?: string
  /** A URI reference to human-readable documentation for the error. */
  type?: string
}

export interface Event {
  /** Who caused it. */
  by?: string
  id: number
  kind: string
  pair?: string
  /** One line for people. */
  text: string
  time: string
  word?: string
}

export interface ExperimentState {
  about?: string
  begun: string
  /** Who began it. */
  by?: string
  /** How many measurements there are. */
  cells: number
  /** Why it stopped, when nobody asked it to. */
  error?: string
  /** Chosen by who began it. */
  id: string
  /** About how long it takes yet. */
  left_s?: number
  /** How many are done. */
  measured: number
  /** As its document says. */
  name: string
  /** The cell under way. */
  now?: string
  pair?: string
  /** How many of them did not fail. */
  passed: number
  phase: "running" | "ended" | "stopped"
  /** Cut down to see whether it works. */
  quick?: boolean
}

export interface ExperimentWish {
  /** Or one of your own, as TOML (docs/bench.md). Without either the one of that id goes on. */
  document?: string
  /** running when not given. */
  phase?: "running" | "stopped"
  /** See whether it works: one profile, one repetition, 3 s each, nothing expected. */
  quick?: boolean
  /** Name of one that comes with farlink. */
  shipped?: string
}

export interface Experiments {
  /** The newest first. */
  experiments: (ExperimentState)[]
  shipped: (ShippedExperiment)[]
}

export interface Fault {
  delay?: string
  factor?: number
  stale?: boolean
}

export interface FeedLink {
  age_ms: number
  granted_bps: number
  link: number
  queue_bytes: number
  rtt_ms: number
  way: string
}

export interface FeedStatus {
  fault?: Fault
  links?: (FeedLink)[]
  oracle_error: number
  oracle_samples: number
}

export interface Figures {
  down: WayFigures
  floor_us: number
  lateness_max_us: number
  lateness_p50_us: number
  lateness_p99_us: number
  up: WayFigures
}

export interface Floor {
  /** How many were measured. */
  frames: number
  /** Arrival to departure, as the ledger has it. */
  p50_us: number
  p99_us: number
  /** Why nothing was measured. */
  why?: string
  /** The same frames by the kernel's stamps outside of the engine. */
  witness_p50_us?: number
  witness_p99_us?: number
}

export interface FlowsOutputBody {
  /** A page of them, oldest first. */
  flows: (Split)[]
  /** How many connections are split. */
  total: number
}

export interface Gap {
  from: string
  /** How many are missing. */
  samples: number
  /** Absent while it goes on. */
  to?: string
  /** What the disk said. */
  why: string
}

export interface Hello {
  /** Time between samples. */
  interval_ms: number
  /** The stream goes on right after Last-Event-ID. */
  resumed: boolean
  /** When the daemon started; ids of the stream begin anew with it. */
  started: string
  status: Status
  version: string
}

export interface LeaseState {
  held: boolean
  /** Token or user that holds the lease. */
  holder?: string
  purpose?: string
  remaining_s?: number
  since?: string
  /** When it ends unless renewed. */
  until?: string
  /** Who waits for it, first in first out. */
  waiters: (WaiterState)[]
}

export interface LeaseWish {
  /** Why, for the others. */
  purpose?: string
  /** How long it lasts unless renewed, 5s to 24h; 15m when not given. */
  ttl?: string
}

export interface Leg {
  buffer?: string
  congestion?: string
  fallback?: string
  floor?: number
  gain?: number
  link?: number
  unsent?: string
}

export interface LegState {
  congestion: string
  cwnd_packets: number
  delivery_bps: number
  min_rtt_ms: number
  mss_bytes: number
  not_sent_bytes: number
  pacing_bps: number
  receive_window_limited: boolean
  retransmits: number
  rtt_ms: number
  state: string
  unacked_packets: number
}

export interface Link {
  /** A whole profile as TOML text, in place of a name. */
  inline?: string
  /** Keys laid over the profile, as a merge patch. */
  overrides?: Record<string, any>
  /** Name of a profile of the box. */
  profile?: string
  /** Seed of the channel; the same seed is the same channel. */
  seed?: number
}

export interface LinkState {
  /** The profile's own words. */
  about?: string
  /** First 7 hex digits of the profile's hash, overrides included. */
  hash: string
  name: string
  /** Name of the profile, or inline. */
  profile: string
  seed: number
}

export interface Login {
  password?: string
  token?: string
}

export interface Mark {
  by?: string
  /** Seconds since the run began. */
  t_s: number
  text: string
  time: string
}

export interface MarkSaid {
  by?: string
  run: string
  /** Seconds since the run began. */
  t_s: number
  text: string
  time: string
}

export interface MarkWish {
  /** What happened. */
  text: string
}

export interface MultipathState {
  /** A page of them. */
  connections: (Connection)[]
  /** Whether it is as asked; why says why not. */
  effective: boolean
  /** Version of the want, for If-Match. */
  etag: string
  /** What the mode is, in plain words. */
  note: string
  paths: (PathState)[]
  /** Process of the relays, 0 while it does not run. */
  pid?: number
  /** How often it had to be started again. */
  restarts: number
  /** Of new connections: linux-default in mode wire. */
  scheduler: string
  /** How many connections are carried. */
  total: number
  totals: CarriedTotals
  /** What was asked. */
  want: Carriage
  /** Why it is not as asked. */
  why?: string
}

export interface NewToken {
  created: string
  /** It stands in the configuration and cannot be revoked here. */
  from_config: boolean
  /** Name, as it stands in the audit log. */
  name: string
  /** How much the token may do; each scope includes the ones before it. */
  scope: "read" | "drive" | "admin"
  /** The token itself. It is never shown again. */
  token: string
}

export interface PEP {
  dial_timeout?: string
  enabled: boolean
  /** A proxy at the network's side. */
  far: boolean
  fault?: Fault
  flows?: number
  handshake: string
  lan?: Leg
  least_rtt?: string
  /** A proxy at the device's side. */
  near: boolean
  rules?: (Policy)[]
  wan?: Leg
}

export interface PEPState {
  etag: string
  proxies: (Proxy)[]
  want: PEP
}

export interface PairSample {
  down: WaySample
  /** Why the link was not emulated meanwhile. */
  fault?: string
  /** 99th percentile of actual minus intended departure, since the engine started. */
  lateness_p99_us: number
  name: string
  /** Live figures of the models as way.link.name. */
  readings?: Record<string, number>
  up: WaySample
}

export interface PairState {
  /** When the want took effect. */
  applied_at: string
  /** What the links promise, held against the frames since the last change. */
  checks?: (Check)[]
  /** Whether the link is as asked; not_effective says why not. */
  effective: boolean
  engine: EngineState
  /** Version of the want, for If-Match. */
  etag: string
  /** The link event that is going on. */
  event?: Disruption
  /** Counters since the engine started. */
  figures?: Figures
  /** Whether the last change lost or reordered no frame. */
  hitless: boolean
  /** The links, main first. */
  links: (LinkState)[]
  /** Name of the pair. */
  name: string
  /** Network namespace of the ports. */
  netns?: string
  /** Why the link is not as asked. */
  not_effective?: string
  /** Port on the device side. */
  port_a: string
  /** Port on the network side. */
  port_b: string
  /** What about the ports will harm traffic, and what to do on the hosts: checksums that are left to a card. */
  port_warnings?: (string)[]
  /** Live figures of the models. */
  readings?: (Reading)[]
  /** Since when the word is true. */
  since: string
  /** How far the figures may be trusted. */
  verdict: Verdict
  /** What was asked. */
  want: Want
  /** Why the pair is not as asked, or what it waits for. */
  why?: string
  word: "STARTING" | "EMULATING" | "BYPASS" | "CUT" | "FAULT"
}

export interface PathRule {
  /** Name of a path, or best. */
  path: string
  /** Of the server; with udp or tcp. */
  port?: number
  /** Addresses of the device or of the server. */
  prefix?: string
  /** udp, tcp or icmp; anything when not given. */
  protocol?: string
}

export interface PathSample {
  /** Rate to the devices. */
  down_bps: number
  name: string
  /** Rate from the devices, with all headers. */
  up_bps: number
}

export interface PathState {
  /** Whether what is not carried over all paths goes by it. */
  best: boolean
  /** Bytes that went down by it. */
  down_bytes: number
  /** Link of the box that emulates it. */
  link?: string
  /** Name of the path. */
  name: string
  /** Whether its interfaces are. */
  up: boolean
  /** Bytes that went up by it, from the devices, since it is there. */
  up_bytes: number
}

export interface PathWant {
  /** Only while no other path is up. */
  backup?: boolean
  /** In place of the common one. */
  congestion?: string
}

export interface Policy {
  client_mac?: string
  dscp?: number
  handshake: string
  lan?: Leg
  mptcp?: boolean
  name?: string
  ports?: (number)[]
  source?: string
  target?: string
  wan?: Leg
}

export interface Problem {
  column?: number
  file?: string
  got: string
  level: string
  line?: number
  path: string
  rule?: string
  want: string
}

export interface ProfileDocument {
  about: string
  /** Rate towards the device, as text. */
  down: string
  /** First 7 hex digits. */
  hash: string
  /** Loss, as text. */
  loss: string
  name: string
  /** Round trip without queueing, as text. */
  rtt: string
  /** Part of the program, read-only. */
  shipped: boolean
  /** The document. */
  toml: string
  /** Rate from the device, as text. */
  up: string
  /** What changes over time. */
  varies?: string
}

export interface ProfileInfo {
  about: string
  /** Rate towards the device, as text. */
  down: string
  /** First 7 hex digits. */
  hash: string
  /** Loss, as text. */
  loss: string
  name: string
  /** Round trip without queueing, as text. */
  rtt: string
  /** Part of the program, read-only. */
  shipped: boolean
  /** Rate from the device, as text. */
  up: string
  /** What changes over time. */
  varies?: string
}

export interface Proxy {
  accepted: number
  attached: string
  enabled: boolean
  fallbacks: number
  feed: FeedStatus
  flows: number
  intercept: Counts
  missing?: Record<string, string>
  most_flows: number
  orphaned: number
  pid: number
  refused: number
  resets: number
  saved?: (SavedPath)[]
  short?: boolean
  side: "near" | "far"
  /** Why there are no figures of this proxy: it does not answer. */
  silent?: string
  unreachable: number
}

export interface Reading {
  link: string
  name: string
  value: number
  way: "down" | "up"
}

export interface Recording {
  bytes: number
  /** Frames that passed too quickly to be recorded: what a replay can take ends or begins there. */
  missed_packets: number
  /** The file grows no larger. */
  most_bytes: number
  /** Fates in it. */
  packets: number
  /** Why it ended before the run did. */
  why?: string
}

export interface Rule {
  /** DSCP, 0 to 63. */
  dscp?: string
  /** Test port it came in at: a (device side) or b. */
  from?: string
  /** Name of a link, main, or pass: past all links. */
  link: string
  /** Source or destination MAC address. */
  mac?: string
  /** Source or destination transport port or range. */
  port?: string
  /** Source or destination IPv4 or IPv6 prefix. */
  prefix?: string
  /** tcp, udp, icmp, … or a number. */
  protocol?: string
  /** Outermost VLAN, 0 to 4094, or none for untagged. */
  vlan?: string
}

export interface Run {
  begun: string
  /** Who began it. */
  by?: string
  /** A capture of its last 30 s was kept. */
  capture: boolean
  /** Something else was asked of the pair meanwhile. */
  changed: boolean
  down: Totals
  ended?: string
  events: (Event)[]
  /** When the link was not emulated during the run: the engine hung, or was gone. */
  faults?: (string)[]
  /** Where samples are missing from the series: the disk did not take them. The totals have them all the same. */
  gaps?: (Gap)[]
  /** Chosen by who began it. */
  id: string
  /** The links when it began. */
  links: (LinkState)[]
  marks: (Mark)[]
  pair: string
  phase: "running" | "stopped" | "interrupted"
  /** The channel of all of the run, where it was asked for. */
  recording?: Recording
  samples: number
  title?: string
  up: Totals
  /** The worst of the ledger's verdicts during the run; INVALID when the link was not emulated for a while. */
  verdict: Verdict
  /** What was asked of the pair when it began: this repeats the run. */
  want: Want
}

export interface RunBrief {
  begun: string
  id: string
  pair: string
  title?: string
}

export interface RunWish {
  /** running when not given. */
  phase?: "running" | "stopped"
  /** Record the channel of all of the run, up to so many bytes on disk: each packet's arrival and fate, some 230 bytes. 1MB to 100GB; nothing is recorded when not given. */
  record?: string
  title?: string
}

export interface Sample {
  pairs: (PairSample)[]
  /** What the paths carried that are held together. */
  paths?: (PathSample)[]
  time: string
}

export interface SavedPath {
  age_ms: number
  bytes: number
  jumps: number
  link: number
  min_rtt_ms: number
  retreats: number
  validated: number
  way: string
}

export interface Series {
  down: WaySeries
  /** Why the link was not emulated, empty where it was; absent when it was all along. */
  fault?: (string)[]
  lateness_p99_us: (number)[]
  /** Frames lost by way.reason, for the reasons that occurred. */
  lost: Record<string, (number)[]>
  pair: string
  /** Unix time at the end of each sample. */
  time_s: (number)[]
  up: WaySeries
}

export interface SessionState {
  /** The box has a password; before, its console shows a code. */
  claimed: boolean
  /** Token or user; guest@ADDRESS without credentials. */
  name: string
  scope: "none" | "read" | "drive" | "admin"
}

export interface SettingsChange {
  /** Names by which the box may be called, besides addresses, localhost and the machine's own name. */
  allowed_hosts?: (string)[]
  /** Address and port of API and panel. */
  listen?: string
  /** What a caller without a token or login may do. */
  open?: "none" | "read" | "drive"
  /** How API and panel are served. */
  tls?: "off" | "self" | "own"
}

export interface SettingsState {
  /** Names by which the box may be called, besides addresses, localhost and the machine's own name. */
  allowed_hosts: (string)[]
  /** Where it is served now. */
  api: string
  /** The one in use. */
  certificate?: Certificate
  /** All is as the configuration has it. */
  configured: boolean
  /** Address and port of API and panel; an empty address is every one of the machine. */
  listen: string
  /** What a caller without a token or login may do. */
  open: "none" | "read" | "drive"
  /** off is plain HTTP, self TLS with a certificate that the box makes for itself, own with one that was uploaded or that the configuration names. */
  tls: "off" | "self" | "own"
  /** Address or TLS are new: unless somebody with scope admin comes in there until then, they go back. */
  trial_until?: string
}

export interface ShippedExperiment {
  about: string
  /** How many measurements it has. */
  cells: number
  /** About how long it takes. */
  length_s: number
  name: string
}

export interface Split {
  client: string
  down_bytes: number
  from: string
  server: string
  side: "near" | "far"
  since: string
  state: string
  to_client: LegState
  to_server: LegState
  up_bytes: number
}

export interface Status {
  lease: LeaseState
  /** Name of the box. */
  name: string
  /** When this was taken. */
  now: string
  /** The pairs of test ports, in the order of the configuration. */
  pairs: (PairState)[]
  /** The paths that are held together, where the box has some: /multipath says what they carry. */
  paths?: (PathState)[]
  /** The runs that go on. */
  runs: (RunBrief)[]
  /** When the daemon started. */
  started: string
  /** Why the state directory cannot be written; changes are refused then. */
  storage?: string
  /** Version of the program. */
  version: string
}

export interface Subflow {
  /** Congestion control of what is sent by it from where this is read. */
  congestion?: string
  cwnd_packets: number
  /** To the device. */
  down_bytes: number
  /** Address at the far side, in mode wire. */
  local?: string
  /** Name of the path. */
  path: string
  /** backup carries only while no other does. */
  priority: "normal" | "backup"
  /** Address at the near side, in mode wire. */
  remote?: string
  rtt_ms: number
  /** silent: nothing is acknowledged for several round trips. */
  state: "up" | "joining" | "silent"
  /** From the device. */
  up_bytes: number
}

export interface Token {
  created: string
  /** It stands in the configuration and cannot be revoked here. */
  from_config: boolean
  /** Name, as it stands in the audit log. */
  name: string
  /** How much the token may do; each scope includes the ones before it. */
  scope: "read" | "drive" | "admin"
}

export interface TokenWish {
  /** How much it may do. */
  scope: "read" | "drive" | "admin"
}

export interface Totals {
  /** Mean. */
  delivered_bps: number
  /** The greatest. */
  lateness_p99_us: number
  /** Frames lost by reason; engine is the box's own fault. */
  lost?: Record<string, number>
  lost_packets: number
  /** Time that the figures are of. */
  measured_s: number
  /** Mean. */
  offered_bps: number
  /** Frames that left. */
  packets: number
  queue_max_ms: number
}

export interface Verdict {
  reason?: string
  word: "VALID" | "DEGRADED" | "INVALID"
}

export interface WaiterState {
  name: string
  purpose?: string
  since: string
}

export interface Want {
  /** Link of the frames no rule matches: a name, main (when not given) or pass. */
  default?: string
  /** A whole profile as TOML text, in place of a name. */
  inline?: string
  /** Further links by name. */
  links?: Record<string, Link>
  /** What the pair does with frames: emulate (when not given), bypass or cut. */
  mode?: string
  /** Keys laid over the profile, as a merge patch. */
  overrides?: Record<string, any>
  /** Name of a profile of the box. */
  profile?: string
  /** Which frames take which link; first match wins. */
  rules?: (Rule)[]
  /** Seed of the channel; the same seed is the same channel. */
  seed?: number
}

export interface WayFigures {
  bytes_in: number
  bytes_out: number
  engine_lost: number
  held_bytes: number
  held_packets: number
  link_down: number
  lost?: Record<string, number>
  packets_in: number
  packets_out: number
}

export interface WaySample {
  /** Propagation now; 0 when the link does not say. */
  delay_ms: number
  /** Rate of the frames that left. */
  delivered_bps: number
  /** Rate the link allows now; 0 when it does not say. */
  granted_bps: number
  /** Frames inside. */
  held_packets: number
  /** Frames lost by reason; engine is the box's own fault. */
  lost?: Record<string, number>
  /** Frames lost, the engine's included. */
  lost_packets: number
  /** Rate of the frames that came. */
  offered_bps: number
  /** Frames that left. */
  packets: number
  queue_bytes: number
  /** Time in queue of the frame that leaves now. */
  queue_ms: number
}

export interface WaySeries {
  delay_ms: (number)[]
  delivered_bps: (number)[]
  granted_bps: (number)[]
  /** The most. */
  held_packets: (number)[]
  lost_packets: (number)[]
  offered_bps: (number)[]
  packets: (number)[]
  /** The greatest. */
  queue_ms: (number)[]
}
