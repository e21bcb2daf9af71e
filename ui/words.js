// Words: every text of the panel, in English and Korean. %s takes arguments
// in order. A missing Korean text falls back to the English one.

/** @type {Record<string, [string, string?]>} */
const words = {
  // header
  lease: ['lease', '사용권'], lease_free: ['lease: free', '사용권: 없음'], lease_left: ['lease: %s, %s left', '사용권: %s, %s 남음'],
  lease_mine: ['lease: yours, %s left', '사용권: 내 것, %s 남음'], lease_waiting: ['You wait for the lease.', '사용권을 기다리고 있습니다.'],
  lease_purpose: ['by hand, from the panel', '패널에서 수동 조작'], seed: ['seed %s', '시드 %s'], offline: ['no connection', '연결 끊김'],
  settings: ['Settings', '설정'], back: ['Back to the panel', '패널로 돌아가기'], pair: ['pair', '포트 쌍'], skip: ['Skip to the content', '본문으로 건너뛰기'],
  theme: ['Theme', '테마'], theme_auto: ['auto', '자동'], theme_light: ['light', '밝게'], theme_dark: ['dark', '어둡게'], language: ['Language', '언어'],
  run_on: ['run %s', '시험 %s'], start_run: ['Start run', '시험 시작'], stop_run: ['Stop run', '시험 종료'], mark: ['Mark', '표시'], report: ['Report', '보고서'],
  run_stopped: ['%s has ended.', '%s 종료.'], no_run: ['No run goes on; start one first.', '진행 중인 시험이 없습니다. 먼저 시작하세요.'], runs: ['Runs', '시험'], begun: ['Begun', '시작'],
  // words of state
  STARTING: ['STARTING', '시작 중'], EMULATING: ['EMULATING', '에뮬레이션'], BYPASS: ['BYPASS', '우회'], CUT: ['CUT', '차단'], FAULT: ['FAULT', '장애'],
  VALID: ['VALID', '유효'], DEGRADED: ['DEGRADED', '저하'], INVALID: ['INVALID', '무효'],
  // profiles
  profiles: ['Profiles', '프로파일'], find: ['find', '찾기'], none_found: ['No profile matches.', '일치하는 프로파일이 없습니다.'],
  rtt: ['RTT %s', 'RTT %s'], loss_n: ['loss %s', '손실 %s'], no_rate: ['no limit', '제한 없음'], next_seed: ['seed for the next apply', '다음 적용의 시드'],
  apply_profile: ['Apply %s', '%s 적용'], mine: ['yours', '내 것'], active: ['active', '적용 중'],
  // path
  path: ['Path', '경로'], down: ['down', '하향'], up: ['up', '상향'], device: ['device', '단말'], network: ['network', '망'],
  queue_n: ['queue %s ms', '대기 %s ms'], lost_n: ['lost %s in %s', '손실 %s / %s'], of: ['%s of %s', '%s / %s'], held_n: ['%s inside', '내부 %s'],
  // actions
  actions: ['Actions', '조작'], bypass: ['Bypass', '우회'], emulate: ['Emulate', '에뮬레이션'], cut5: ['Cut 5 s', '5초 차단'], flap: ['Flap', '플랩'], fade30: ['Fade 30 s', '30초 페이딩'], hand_over: ['Hand over', '핸드오버'],
  take_lease: ['Take lease', '사용권 얻기'], give_lease: ['Give lease back', '사용권 반납'], freeze: ['Freeze', '정지'], go_on: ['Go on', '계속'],
  csv: ['CSV', 'CSV'], pcap: ['pcap 30 s', 'pcap 30초'], pcap_armed: ['Frames are kept from now on; ask again for the capture.', '지금부터 프레임을 보관합니다. 다시 누르면 내려받습니다.'],
  pcap_saved: ['Capture saved (%s): %s', '캡처 저장됨 (%s): %s'], key_d: ['download the last 30 s as pcapng', '최근 30초를 pcapng로 저장'], tables: ['Tables', '표'], plots: ['Plots', '그래프'], copy_curl: ['Copy as curl', 'curl로 복사'], copy_pytest: ['Copy as pytest', 'pytest로 복사'],
  nothing_to_copy: ['Change something first: its request is then copied.', '먼저 변경하면 그 요청이 복사됩니다.'], copied: ['Copied.', '복사했습니다.'], undo: ['Undo', '되돌리기'], nothing_to_undo: ['Nothing to undo', '되돌릴 것이 없습니다'], help: ['Keys', '단축키'],
  shown: ['Shown', '표시'], dismiss: ['Dismiss', '닫기'],
  applied: ['%s applied', '%s 적용됨'], bypassed: ['Frames bypass the link', '프레임이 링크를 우회합니다'], emulating_again: ['Frames pass the link again', '프레임이 다시 링크를 지납니다'],
  hitless: ['no frame lost or reordered', '프레임 손실·순서 변경 없음'], not_hitless: ['frames inside were disturbed', '통과 중인 프레임에 영향'], not_effective: ['not effective', '적용되지 않음'],
  was_reset: ['Back to the boot state', '부팅 상태로 되돌렸습니다'], pep_changed: ['Proxies changed', '프록시를 변경했습니다'],
  // strips
  rates: ['Rate', '속도'], queue: ['Queue delay', '대기 지연'], losses: ['Lost frames', '손실 프레임'], lateness: ['Engine lateness p99', '엔진 지연 p99'], cwnd: ['PEP window', 'PEP 윈도'],
  offered: ['offered', '유입'], granted: ['granted', '할당'], delivered: ['delivered', '전달'], total: ['all', '전체'], grant: ['grant', '할당'], window: ['Window', '구간'], way: ['Way', '방향'], time: ['time', '시각'],
  // proxies
  proxies: ['Proxies', '프록시'], near: ['near', '단말 쪽'], far: ['far', '망 쪽'], splitting: ['splitting', '분할 중'], passing: ['passing', '통과'], too_short: ['splitting nothing: the link is too short for it', '링크가 짧아 분할하지 않음'], no_proxies: ['no proxies', '프록시 없음'], pep_on: ['PEP on', 'PEP 켜기'], pep_off: ['PEP off', 'PEP 끄기'],
  pep_none: ['Take proxies out', '프록시 제거'], flows_n: ['%s connections', '연결 %s개'], connection: ['Connection', '연결'], state: ['State', '상태'], amount: ['Amount', '양'], to_client: ['To the client', '클라이언트 쪽'], to_server: ['To the server', '서버 쪽'], key_x: ['PEP on or off', 'PEP 켜기/끄기'],
  // multipath
  multipath: ['Multipath', '다중 경로'], mp_mode: ['Mode', '모드'], mp_off: ['Off', '끔'], mp_wire: ['MPTCP (wire)', 'MPTCP (wire)'], mp_lab: ['Lab relay', '실험용 릴레이'], scheduler: ['Scheduler', '스케줄러'], congestion: ['Congestion control', '혼잡 제어'],
  mp_say_off: ['Every connection takes one path: that of its rule, or the best that is up.', '모든 연결은 규칙이 정한 경로 또는 살아 있는 최선의 경로 하나만 사용합니다.'],
  mp_say_wire: ['MPTCP v1 (RFC 8684) by the kernel; its packet scheduler is the kernel\u2019s own and cannot be chosen.', '커널의 MPTCP v1(RFC 8684)입니다. 패킷 스케줄러는 커널 고유의 것으로 선택할 수 없습니다.'],
  mp_say_lab: ['This is not MPTCP on the wire: farlink\u2019s own relay, one TCP connection per path with farlink\u2019s frames in it.', '이 모드는 회선 위의 MPTCP가 아닙니다. 경로마다 TCP 연결 하나에 farlink 고유의 프레임을 싣는 릴레이입니다.'],
  mp_new: ['Changes hold for new connections.', '변경은 새 연결부터 적용됩니다.'], mp_path: ['Path', '경로'], mp_share: ['Share', '비율'], mp_shares: ['Shares of the paths', '경로별 비율'], mp_subflow: ['Subflow by', '서브플로 경로'], mp_priority: ['Priority', '우선순위'],
  mp_normal: ['normal', '보통'], mp_backup: ['backup', '예비'], mp_up: ['up', '정상'], mp_down: ['down', '끊김'], mp_best: ['best', '최선'], mp_joining: ['joining', '참여 중'], mp_silent: ['silent', '무응답'], mp_fallback: ['fallback: plain TCP', '폴백: 일반 TCP'],
  mp_totals: ['%s connections now; %s opened, %s refused, %s fallbacks, %s resets', '현재 연결 %s개; 개설 %s, 거부 %s, 폴백 %s, 재설정 %s'],
  // health
  now: ['Now', '현재'], verdict: ['verdict', '판정'], late_p99: ['engine lateness p99', '엔진 지연 p99'], budget: ['budget %s µs', '한도 %s µs'], floor: ['latency at zero delay', '지연 0일 때의 지연'],
  engine: ['engine', '엔진'], restarts: ['%s restarts', '재시작 %s회'], effective: ['as asked', '요청대로'], readings: ['Models', '모델'],
  event_on: ['%s goes on until %s', '%s 진행 중, %s까지'], events: ['Events', '이벤트'], no_events: ['Nothing has happened yet.', '아직 이벤트가 없습니다.'],
  // login
  login: ['Log in', '로그인'], password: ['Password', '비밀번호'], token: ['Token', '토큰'], code: ['Claim code', '등록 코드'], claim: ['Claim this box', '이 장비 등록'],
  claim_say: ['Nobody has claimed this box yet. Type the claim code that stands in its log, and choose a password of at least 10 bytes; or log in with a token.', '아직 등록되지 않은 장비입니다. 토큰으로 로그인하거나, 로그에 표시된 등록 코드와 10바이트 이상의 비밀번호를 입력하세요.'],
  login_say: ['Log in with the password, or with a token.', '비밀번호나 토큰으로 로그인하세요.'], logout: ['Log out', '로그아웃'], you_are: ['You are %s (%s).', '%s (%s)로 로그인했습니다.'],
  // settings
  tokens: ['Tokens', '토큰'], name: ['Name', '이름'], scope: ['Scope', '범위'], created: ['Created', '생성'], make_token: ['Make token', '토큰 만들기'], revoke: ['Revoke', '폐기'], from_config: ['configuration', '설정 파일'],
  token_once: ['This is shown once. Keep it now:', '한 번만 표시됩니다. 지금 보관하세요:'], audit: ['Audit log', '감사 기록'], who: ['Who', '누가'], what: ['What', '무엇을'], on: ['On', '대상'], answer: ['Answer', '응답'],
  editor: ['Profile editor', '프로파일 편집기'], start_from: ['Start from', '바탕'], save: ['Store', '저장'], remove: ['Remove', '삭제'], stored: ['%s stored', '%s 저장됨'], removed: ['%s removed', '%s 삭제됨'],
  preview: ['Preview', '미리보기'], preview_say: ['Rate, queue and loss of %s over time, in virtual time', '%s의 시간별 속도, 대기, 손실 (가상 시간)'], timeline: ['Timeline', '타임라인'], good: ['No problems.', '문제 없음.'], ports: ['Ports', '포트'], side_a: ['device side', '단말 쪽'], side_b: ['network side', '망 쪽'], box: ['Box', '장비'], version: ['version', '버전'],
  reset_box: ['Reset to the boot state', '부팅 상태로 초기화'], keys_on: ['Single keys act', '단축키 사용'],
  network_tls: ['Network and TLS', '네트워크와 TLS'], listen: ['Address and port of API and panel', 'API와 패널의 주소와 포트'], allowed_hosts: ['Names of the box (allowed hosts)', '장비 이름 (허용 호스트)'],
  open_scope: ['Without login', '로그인 없이 허용'], open_none: ['nothing', '없음'], open_read: ['look', '보기'], open_drive: ['look and drive', '보기와 조작'],
  tls_off: ['off: plain HTTP', '끔: 일반 HTTP'], tls_self: ['certificate made by the box', '장비가 만든 인증서'], tls_own: ['own certificate', '자체 인증서'],
  apply_settings: ['Apply', '적용'], as_configured: ['As the configuration says', '설정 파일대로'], settings_taken: ['Settings are in force', '설정이 적용되었습니다'],
  trial: ['On trial, %s left: come in at the new address, or all goes back.', '시험 적용, %s 남음: 새 주소로 접속하지 않으면 되돌아갑니다.'],
  certificate: ['Certificate', '인증서'], until: ['until %s', '%s까지'], upload_certificate: ['Upload an own certificate', '자체 인증서 올리기'], certificate_pem: ['Certificate (PEM)', '인증서 (PEM)'], key_pem: ['Key (PEM, no passphrase)', '키 (PEM, 암호 없음)'],
  upload: ['Upload', '올리기'], certificate_taken: ['Certificate kept', '인증서를 저장했습니다'], before_after: ['before → after', '변경 전 → 후'],
  // experiments
  experiments: ['Experiments', '실험'], experiment: ['Experiment', '실험'], own_document: ['a document of your own', '직접 작성한 문서'], quick: ['quick: see whether it works', '빠르게: 동작만 확인'], begin: ['Begin', '시작'], stop: ['Stop', '중지'],
  progress: ['Progress', '진행'], cells_n: ['%s cells', '셀 %s개'], cell_of: ['%s of %s cells', '셀 %s/%s'], passed_of: ['%s of %s passed', '%s/%s 통과'], phase_ended: ['ended', '종료'], phase_stopped: ['stopped', '중지됨'],
  'problem_no-hosts': ['The configuration names no hosts for traffic of the box itself (pairs.hosts)', '설정 파일에 장비 트래픽용 호스트(pairs.hosts)가 없습니다'],
  // keys
  key_b: ['bypass or emulate', '우회/에뮬레이션'], key_c: ['cut for 5 s', '5초 차단'], key_f: ['fade by 6 dB for 30 s', '30초간 6 dB 페이딩'], key_h: ['hand over, 100 ms', '핸드오버, 100 ms'], key_p: ['flap five times', '플랩 5회'], key_l: ['take or give back the lease', '사용권 얻기/반납'], key_z: ['undo', '되돌리기'], key_r: ['start or stop a run', '시험 시작/종료'], key_m: ['put a mark into the run', '시험에 표시 남기기'],
  key_space: ['freeze or go on', '정지/계속'], key_slash: ['find a profile; arrows and Enter apply', '프로파일 찾기'], key_w: ['show the other way', '다른 방향 보기'], key_help: ['this list', '이 목록'],
  // problems
  problem_leased: ['%s holds the lease until %s', '다른 사용자가 사용권을 갖고 있습니다: %s, %s까지'], problem_stale: ['Someone changed the link meanwhile; look again', '그 사이 링크가 변경되었습니다'],
  problem_offline: ['The box does not answer', '장비가 응답하지 않습니다'], 'problem_wrong-secret': ['Wrong password, token or claim code', '비밀번호, 토큰 또는 등록 코드가 틀렸습니다'],
  problem_busy: ['A link event is going on', '링크 이벤트가 진행 중입니다'],
}

export const languages = { en: 'English', ko: '한국어' }

/** The language in force: chosen, or the browser's. */
let language = 0
/** speak chooses the language. @param {string|undefined} chosen */
export function speak(chosen) {
  const code = chosen || (navigator.language.startsWith('ko') ? 'ko' : 'en')
  language = code === 'ko' ? 1 : 0
  document.documentElement.lang = code
  return code
}

/** t is the text of a key in the language in force. @param {string} key @param {...any} args */
export function t(key, ...args) {
  const [en, ko] = words[key] || []
  let text = (language ? ko : en) ?? en
  if (text === undefined) return key.startsWith('problem_') ? String(args[0]) : key
  for (const a of args) text = text.replace('%s', String(a))
  return text
}
