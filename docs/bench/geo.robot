*** Settings ***
Documentation     A bench with a farlink box: robot --pythonpath docs/bench docs/bench/geo.robot
Library           farlink.Box    %{FARLINK_API}    %{FARLINK_TOKEN}
Suite Setup       Take Lease    robot    ttl=5m    patience=60
Suite Teardown    Reset
Test Teardown     Run Keyword If Test Failed    Log    link was ${PROFILE}    WARN

*** Variables ***
${PROFILE}        geo/qirse-sat

*** Test Cases ***
The link is a geostationary satellite
    Apply    ${PROFILE}    seed=7
    Wait For    EMULATING
    ${state}=    State
    Should Be Equal    ${state}[links][0][profile]    ${PROFILE}

A break of one second is survived
    ${run}=    Start Run    robot-fade    title=a cut of one second
    Event    cut    1s
    Wait For    CUT    timeout=2
    Mark    robot-fade    the link is cut
    Wait For    EMULATING    timeout=5
    ${run}=    Stop Run    robot-fade
    Should Be Equal    ${run.verdict}    VALID    ${run.reason}
    Call Method    ${run}    delete

Nothing is asked that the box does not have
    Run Keyword And Expect Error    FarlinkError: 422 invalid*    Apply    geo/no-such
