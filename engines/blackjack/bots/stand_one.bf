stand_one: a blackjack bot in Brainfuck
It bets one and declines insurance and always stands

A request is one line of JSON; its fields come in the order of the statement
(type match_id game_id bot_id seat phase and so on) with a comma behind each
The reply needs match_id and game_id and bot_id as they came: what stands
between the first comma and the fourth is copied into it as it is
The first letter of the value of phase then tells which action to name
No comma can be within the fields that matter

Cells while it runs
    0   the first character of a request; 0 at the end of the input
    1   a counter
    2   a character less the one that is waited for; later the phase
    3   the same for the rest of the line; later: is it the bet phase
    4   is it the insurance phase
    5   quote            9   colon           13   open brace
    6   lower case a    10   digit 1
    7   upper case A    11   comma
    8   underscore      12   end of line
Letters are printed by moving cell 6 or 7 from letter to letter and back

THE CONSTANTS: eight times something and a little more

++++++++[                               cell 0 counts to eight
    >>>>>++++                           cell 5 gets 32
    >++++++++++++                       cell 6 gets 96
    >++++++++                           cell 7 gets 64
    >++++++++++++                       cell 8 gets 96
    >+++++++                            cell 9 gets 56
    >++++++                             cell 10 gets 48
    >+++++                              cell 11 gets 40
    >+                                  cell 12 gets 8
    >+++++++++++++++                    cell 13 gets 120
<<<<<<<<<<<<<-]
>>>>>++                                 cell 5 is 34
>+                                      cell 6 is 97
>+                                      cell 7 is 65
>-                                      cell 8 is 95
>++                                     cell 9 is 58
>+                                      cell 10 is 49
>++++                                   cell 11 is 44
>++                                     cell 12 is 10
>+++                                    cell 13 is 123
<<<<<<<<<<<<<                           back to cell 0

THE MAIN LOOP: a request each time

,[

    SKIP all up to the first comma (44)

    [
        ,--------------------------------------------
    ]                                   now cell 0 is 0

    PRINT the head of the reply

    >>>>>>>>>>>>>.                      open brace
    <<<<<<<<.                           quote
    >+++++++++++++++++++.               t
    +++++.                              y
    ---------.                          p
    -----------.                        e
    <.                                  quote
    >>>>.                               colon
    <<<<.                               quote
    >----.                              a
    ++.                                 c
    +++++++++++++++++.                  t
    -----------.                        i
    ++++++.                             o
    -.                                  n
    >>.                                 underscore
    <<++++.                             r
    -------------.                      e
    ++++++++++++++.                     s
    ---.                                p
    -.                                  o
    -.                                  n
    +++++.                              s
    --------------.                     e
    <.                                  quote
    >>>>>>.                             comma
    <<<<<----                           put the cell back
    <<<<<                               back to cell 1

    COPY three fields with the comma behind each

    +++[                                cell 1: three times
        >+[                             cell 2: until it was a comma
            ,.--------------------------------------------
        ]
    <-]

    SKIP the seat; then three quotes (34) to the value of phase

    >+[                                 cell 2
        ,--------------------------------------------
    ]
    <+++[                               cell 1: three times
        >+[
            ,----------------------------------
        ]
    <-]

    KEEP its first letter and skip to the end of the line (10)

    >,                                  cell 2: b or i or p
    >+[                                 cell 3
        ,----------
    ]

    PRINT the name of the action field

    >>.                                 quote
    >.                                  a
    ++.                                 c
    +++++++++++++++++.                  t
    -----------.                        i
    ++++++.                             o
    -.                                  n
    <.                                  quote
    >>>>.                               colon
    <<<<.                               quote
    >-------------                      put the cell back
    <<<<                                back to cell 2

    CHOOSE by the letter: b is 98 and i is 105 and p is 112

    -------------------------------------------------twice 49
    -------------------------------------------------
    >+<                                 cell 3: it is a bet
    [                                   unless cell 2 is not 0
        >-<-------                      not a bet; seven less
        >>+<<                           cell 4: it is insurance
        [                               unless cell 2 is still not 0
            [-]>>-<<                    it is play
            >>>>>++++++++++++++++++.    S
            +.                          T
            -------------------.        A
            +++++++++++++.              N
            ----------.                 D
            <<.                         quote
            >>---                       put the cell back
            <<<<<                       back to cell 2
        ]
        >>[-                            insurance
            >>>+++++++++++++.           N
            +.                          O
            >.                          underscore
            <------.                    I
            +++++.                      N
            +++++.                      S
            ++.                         U
            ---.                        R
            -----------------.          A
            +++++++++++++.              N
            -----------.                C
            ++.                         E
            <<.                         quote
            >>----                      put the cell back
            <<<                         back to cell 4
        ]<<                             back to cell 2
    ]
    >[-                                 bet
        >>>>+.                          B
        +++.                            E
        +++++++++++++++.                T
        <<.                             quote
        >>>>>>.                         comma
        <<<<<<.                         quote
        >.                              a
        ++++++++++++.                   m
        ++.                             o
        ++++++.                         u
        -------.                        n
        ++++++.                         t
        <.                              quote
        >>>>.                           colon
        >.                              1
        <<<<-------------------         put the cell back
        >-------------------            put the cell back
        <<<<                            back to cell 3
    ]

    PRINT the end of the reply and read on

    >>>>>>>>>>++.                       close brace
    <.                                  end of line
    >--                                 put the cell back
    <<<<<<<<<<<<<                       back to cell 0
,]
