Feature: Temporal values

  Scenario Outline: <e> is <v>
    Given any graph
    When executing query:
      """
      RETURN toString(<e>) AS v
      """
    Then the result should be, in any order:
      | v   |
      | <v> |
    And no side effects

    # Dates from text
    Examples:
      | e | v |
      | date('2015-07-21') | '2015-07-21' |
      | date('20150721') | '2015-07-21' |
      | date('2015-07') | '2015-07-01' |
      | date('201507') | '2015-07-01' |
      | date('2015-W30-2') | '2015-07-21' |
      | date('2015W302') | '2015-07-21' |
      | date('2015-W30') | '2015-07-20' |
      | date('2015W30') | '2015-07-20' |
      | date('2015-202') | '2015-07-21' |
      | date('2015202') | '2015-07-21' |
      | date('2015') | '2015-01-01' |
      | date('2009-W53-7') | '2010-01-03' |
      | date('+999999999-12-31') | '+999999999-12-31' |
      | date('-999999999-01-01') | '-999999999-01-01' |
      | date('-0044-03-15') | '-0044-03-15' |
      | date('2020-366') | '2020-12-31' |

    # Times from text
    Examples:
      | e | v |
      | localtime('21:40:32.142') | '21:40:32.142' |
      | localtime('214032.142') | '21:40:32.142' |
      | localtime('21:40:32') | '21:40:32' |
      | localtime('214032') | '21:40:32' |
      | localtime('21:40') | '21:40' |
      | localtime('2140') | '21:40' |
      | localtime('21') | '21:00' |
      | time('21:40:32.142+0100') | '21:40:32.142+01:00' |
      | time('214032.142Z') | '21:40:32.142Z' |
      | time('21:40:32+01:00') | '21:40:32+01:00' |
      | time('214032-0100') | '21:40:32-01:00' |
      | time('21:40-01:30') | '21:40-01:30' |
      | time('2140-00:00') | '21:40Z' |
      | time('2140-02') | '21:40-02:00' |
      | time('22+18:00') | '22:00+18:00' |
      | time('21:40:32.000000001Z') | '21:40:32.000000001Z' |

    # Date times from text
    Examples:
      | e | v |
      | localdatetime('2015-07-21T21:40:32.142') | '2015-07-21T21:40:32.142' |
      | localdatetime('2015-W30-2T214032.142') | '2015-07-21T21:40:32.142' |
      | localdatetime('2015-202T21:40:32') | '2015-07-21T21:40:32' |
      | localdatetime('2015T214032') | '2015-01-01T21:40:32' |
      | localdatetime('20150721T21:40') | '2015-07-21T21:40' |
      | localdatetime('2015-W30T2140') | '2015-07-20T21:40' |
      | localdatetime('2015202T21') | '2015-07-21T21:00' |
      | datetime('2015-07-21T21:40:32.142+0100') | '2015-07-21T21:40:32.142+01:00' |
      | datetime('2015-W30-2T214032.142Z') | '2015-07-21T21:40:32.142Z' |
      | datetime('2015T214032-0100') | '2015-01-01T21:40:32-01:00' |
      | datetime('20150721T21:40-01:30') | '2015-07-21T21:40-01:30' |
      | datetime('2015-W30T2140-02') | '2015-07-20T21:40-02:00' |
      | datetime('2015202T21+18:00') | '2015-07-21T21:00+18:00' |
      | datetime('2015-07-21T21:40:32.142+02:00[Europe/Stockholm]') | '2015-07-21T21:40:32.142+02:00[Europe/Stockholm]' |
      | datetime('2015-07-21T21:40:32.142[Europe/London]') | '2015-07-21T21:40:32.142+01:00[Europe/London]' |
      | datetime('2015-07-21T21:40:32.142-04[America/New_York]') | '2015-07-21T21:40:32.142-04:00[America/New_York]' |
      | datetime('1818-07-21T21:40:32.142[Europe/Stockholm]') | '1818-07-21T21:40:32.142+00:53:28[Europe/Stockholm]' |

    # Durations from text
    Examples:
      | e | v |
      | duration('P14DT16H12M') | 'P14DT16H12M' |
      | duration('P5M1.5D') | 'P5M1DT12H' |
      | duration('P0.75M') | 'P22DT19H51M49.5S' |
      | duration('PT0.75M') | 'PT45S' |
      | duration('P2.5W') | 'P17DT12H' |
      | duration('P12Y5M14DT16H12M70S') | 'P12Y5M14DT16H13M10S' |
      | duration('P2012-02-02T14:37:21.545') | 'P2012Y2M2DT14H37M21.545S' |
      | duration('-P1Y2M') | 'P-1Y-2M' |
      | duration('P1Y-14M') | 'P-2M' |
      | duration('PT-0.001S') | 'PT-0.001S' |
      | duration('PT0S') | 'PT0S' |
      | duration('PT100H') | 'PT100H' |

    # Selecting parts of other values
    Examples:
      | e | v |
      | date({date: date('1984-11-11'), year: 28}) | '0028-11-11' |
      | date({date: date('1984-11-11'), day: 28}) | '1984-11-28' |
      | date({date: date('1984-11-11'), week: 1}) | '1984-01-08' |
      | date({date: date('1984-11-11'), ordinalDay: 28}) | '1984-01-28' |
      | date({date: date('1984-11-11'), quarter: 3}) | '1984-08-11' |
      | date({date: date('1984-11-11'), quarter: 2}) | '1984-05-11' |
      | date({date: localdatetime('1984-11-11T12:31:14'), month: 2}) | '1984-02-11' |
      | date(datetime('1984-11-11T23:59:59-10:00')) | '1984-11-11' |
      | localtime({time: time('12:31:14.645+01:00'), second: 42}) | '12:31:42.645' |
      | localtime(datetime('1984-10-11T12:00+01:00')) | '12:00' |
      | time({time: localtime('12:31:14.645876')}) | '12:31:14.645876Z' |
      | time({time: time('12:31:14+01:00'), timezone: '+05:00'}) | '16:31:14+05:00' |
      | time({time: localtime('12:31:14'), timezone: '+05:00'}) | '12:31:14+05:00' |
      | time({time: time('12:31:14+01:00'), second: 42, timezone: '+05:00'}) | '16:31:42+05:00' |
      | localdatetime({date: date('1984-10-11'), hour: 10, minute: 10, second: 10}) | '1984-10-11T10:10:10' |
      | localdatetime({date: date('1984-10-11'), day: 28, time: time('12:31:14+01:00')}) | '1984-10-28T12:31:14' |
      | localdatetime({datetime: datetime('1984-10-11T12:00+05:00'), day: 28, second: 42}) | '1984-10-28T12:00:42' |
      | datetime({date: date('1984-10-11'), time: localtime('10:10'), timezone: 'Europe/Stockholm'}) | '1984-10-11T10:10+01:00[Europe/Stockholm]' |
      | datetime({datetime: datetime('1984-10-11T12:00+01:00'), timezone: '+05:00'}) | '1984-10-11T16:00+05:00' |
      | datetime({date: datetime('1984-10-11T23:00+01:00'), time: time('12:31:14+02:00')}) | '1984-10-11T12:31:14+02:00' |
      | datetime({datetime: localdatetime('1984-03-28T02:30'), timezone: 'Pacific/Honolulu'}) | '1984-03-28T02:30-10:00[Pacific/Honolulu]' |
      | datetime({epochSeconds: 416779, nanosecond: 42}) | '1970-01-05T19:46:19.000000042Z' |
      | datetime({epochMillis: 237821673987}) | '1977-07-15T13:34:33.987Z' |

    # Truncation
    Examples:
      | e | v |
      | date.truncate('millennium', date('2017-10-11')) | '2000-01-01' |
      | date.truncate('century', date('1984-10-11'), {day: 2}) | '1900-01-02' |
      | date.truncate('decade', date('1984-10-11')) | '1980-01-01' |
      | date.truncate('weekYear', date('1984-01-01')) | '1983-01-03' |
      | date.truncate('quarter', date('1984-11-11'), {day: 2}) | '1984-10-02' |
      | date.truncate('week', date('1984-10-11'), {dayOfWeek: 2}) | '1984-10-09' |
      | date.truncate('week', date('-0001-01-01')) | '-0002-12-28' |
      | datetime.truncate('hour', datetime('1984-10-11T12:31:14.645+01:00'), {timezone: 'Europe/Stockholm'}) | '1984-10-11T12:00+01:00[Europe/Stockholm]' |
      | localtime.truncate('millisecond', localtime('12:31:14.645876123'), {nanosecond: 2}) | '12:31:14.645000002' |
      | time.truncate('day', time('12:31:14+01:00')) | '00:00+01:00' |
      | localdatetime.truncate('microsecond', localdatetime('1984-10-11T12:31:14.645876123')) | '1984-10-11T12:31:14.645876' |

    # Arithmetic
    Examples:
      | e | v |
      | date('2020-01-31') + duration('P1M') | '2020-02-29' |
      | date('2020-03-31') - duration('P1M') | '2020-02-29' |
      | date('2020-02-29') + duration('P1Y') | '2021-02-28' |
      | date('2020-01-31') + duration('P1M') - duration('P1M') | '2020-01-29' |
      | date('2020-01-01') + duration('PT25H') | '2020-01-02' |
      | date('2020-01-01') + duration('PT23H') | '2020-01-01' |
      | date('2020-01-01') - duration('PT23H') | '2020-01-01' |
      | localtime('23:30') + duration('PT1H') | '00:30' |
      | localtime('00:30') - duration('P1DT1H') | '23:30' |
      | time('23:30+02:00') + duration('PT45M') | '00:15+02:00' |
      | duration('P1Y') + duration('P-13M') | 'P-1M' |
      | duration('PT1H') * 2.5 | 'PT2H30M' |
      | duration('P1M') / 2 | 'P15DT5H14M33S' |
      | duration({months: 5, days: 1.5}) | 'P5M1DT12H' |
      | duration({months: 0.75}) | 'P22DT19H51M49.5S' |
      | duration({weeks: 2.5}) | 'P17DT12H' |
      | duration({seconds: 2, milliseconds: -1}) | 'PT1.999S' |
      | duration({seconds: -2, milliseconds: 1}) | 'PT-1.999S' |
      | duration({hours: 1, minutes: -61}) | 'PT-1M' |
      | duration({days: 1, milliseconds: -1}) | 'P1DT-0.001S' |
      | datetime('2017-10-29T00:00+02:00[Europe/Stockholm]') + duration('PT3H') | '2017-10-29T02:00+01:00[Europe/Stockholm]' |
      | datetime('2017-10-28T12:00+02:00[Europe/Stockholm]') + duration('P1D') | '2017-10-29T12:00+01:00[Europe/Stockholm]' |
      | duration.between(date('1984-10-11'), date('2015-06-24')) | 'P30Y8M13D' |
      | duration.between(date('2015-06-24'), date('1984-10-11')) | 'P-30Y-8M-13D' |
      | duration.between(date('1984-10-11'), localdatetime('2016-07-21T21:45:22.142')) | 'P31Y9M10DT21H45M22.142S' |
      | duration.between(localtime('14:30'), date('2015-06-24')) | 'PT-14H-30M' |
      | duration.between(localtime('14:30'), time('16:30+01:00')) | 'PT2H' |
      | duration.inMonths(date('2018-01-31'), date('2018-02-28')) | 'PT0S' |
      | duration.inDays(localdatetime('2018-01-01T12:00'), localdatetime('2018-01-02T11:00')) | 'PT0S' |
      | duration.inSeconds(datetime('2017-10-29T00:00+02:00[Europe/Stockholm]'), localtime('04:00')) | 'PT5H' |
      | duration.inSeconds(date('-999999999-01-01'), date('+999999999-12-31')) | 'PT17531639991192H' |
      | duration.inDays(date('2020-02-28'), date('2021-02-28')) | 'P366D' |

  Scenario Outline: <e> has the component <v>
    Given any graph
    When executing query:
      """
      RETURN <e> AS v
      """
    Then the result should be, in any order:
      | v   |
      | <v> |

    Examples:
      | e | v |
      | date('1984-01-01').weekYear | 1983 |
      | date('1984-01-01').week | 52 |
      | date('1984-01-01').weekDay | 7 |
      | date('1984-10-11').quarter | 4 |
      | date('1984-10-11').dayOfQuarter | 11 |
      | date('1984-12-31').ordinalDay | 366 |
      | datetime('1984-11-11T12:31:14.645876123[Europe/Stockholm]').epochMillis | 469020674645 |
      | datetime('1984-11-11T12:31:14+02:30').offsetMinutes | 150 |
      | datetime('1984-11-11T12:31:14+02:30').offsetSeconds | 9000 |
      | datetime('1984-11-11T12:31:14+02:30').timezone | '+02:30' |
      | time('12:31:14.645876123Z').microsecond | 645876 |
      | duration('P1Y4M10DT1H1M1.111111111S').quarters | 5 |
      | duration('P1Y4M10DT1H1M1.111111111S').monthsOfYear | 4 |
      | duration('P1Y4M10DT1H1M1.111111111S').daysOfWeek | 3 |
      | duration('PT1H1M1.111111111S').milliseconds | 3661111 |
      | duration('PT1H1M1.111111111S').nanosecondsOfSecond | 111111111 |
      | duration('PT-0.5S').seconds | -1 |
      | duration('PT-0.5S').nanosecondsOfSecond | 500000000 |
      | date('2020-01-01') < date('2020-01-02') | true |
      | date('2020-01-01') < localdatetime('2020-01-02T00:00') | null |
      | date('2020-01-01') = localdatetime('2020-01-01T00:00') | false |
      | time('12:00+01:00') = time('11:00Z') | true |
      | time('12:00+01:00') <= time('11:00Z') | true |
      | duration('PT24H') = duration('P1D') | false |
      | duration('P1Y') = duration('P12M') | true |
      | duration('PT60M') < duration('PT2H') | null |
      | date(null) | null |
      | duration(null) | null |
      | datetime(null).year | null |

  Scenario Outline: <e> is not a value
    Given any graph
    When executing query:
      """
      RETURN <e> AS v
      """
    Then a <type> should be raised at <phase>: <detail>

    Examples:
      | e | type | phase | detail |
      | date('2015-02-29') | ArgumentError | any time | * |
      | date({month: 1}) | ArgumentError | any time | * |
      | date('2015-13') | ArgumentError | any time | * |
      | localtime('25:00') | ArgumentError | any time | * |
      | datetime('2015-07-21T21:40:32.142[Nowhere/Land]') | ArgumentError | any time | * |
      | duration('P') | ArgumentError | any time | * |
