^XA^CI28^PW812^LL1218^FO50,50^A0N,30,30^FDJane Doe^FS^FDx^FS
! U1 setvar "device.reset" ""
^PQ1^XZ
