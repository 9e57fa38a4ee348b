<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE TS>
<TS version="2.1" language="ar" sourcelanguage="en">
  <context>
    <name>Synapse</name>
    <message>
      <location filename="../app/synapse_app/application.py"></location>
      <source>Paused from the tray</source>
      <translation>أُوقف مؤقتًا من شريط النظام</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/application.py"></location>
      <source>Stop the service</source>
      <translation>أوقف الخدمة</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/application.py"></location>
      <source>{n} things are still loaded or running. Stop the service anyway?</source>
      <translation>
        <numerusform>لا شيء محمّل أو قيد التشغيل ({n}). هل تريد إيقاف الخدمة؟</numerusform>
        <numerusform>ما زال عنصر واحد ({n}) محمّلاً أو قيد التشغيل. هل تريد إيقاف الخدمة مع ذلك؟</numerusform>
        <numerusform>ما زال عنصران ({n}) محمّلين أو قيد التشغيل. هل تريد إيقاف الخدمة مع ذلك؟</numerusform>
        <numerusform>ما زالت {n} عناصر محمّلة أو قيد التشغيل. هل تريد إيقاف الخدمة مع ذلك؟</numerusform>
        <numerusform>ما زال {n} عنصرًا محمّلاً أو قيد التشغيل. هل تريد إيقاف الخدمة مع ذلك؟</numerusform>
        <numerusform>ما زال {n} عنصر محمّلاً أو قيد التشغيل. هل تريد إيقاف الخدمة مع ذلك؟</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Certificate</source>
      <translation>الشهادة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Largest error of a score</source>
      <translation>أكبر خطأ في الدرجة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Likeness, at worst</source>
      <translation>التشابه في أسوأ حال</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Likeness, on average</source>
      <translation>التشابه في المتوسط</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Measured</source>
      <translation>وقت القياس</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>On</source>
      <translation>على</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Reason</source>
      <translation>السبب</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Same neighbours, worst tenth</source>
      <translation>الجيران أنفسهم، أسوأ عُشر</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Speed</source>
      <translation>السرعة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>Texts compared</source>
      <translation>النصوص المقارَنة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>certified</source>
      <translation>معتمد</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>it was not probed on this machine</source>
      <translation>لم يُختبر على هذا الجهاز</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>needs none</source>
      <translation>لا يحتاج إليها</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>not certified: its results differ too much</source>
      <translation>غير معتمد: نتائجه تختلف أكثر مما ينبغي</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>not probed yet</source>
      <translation>لم يُختبر بعد</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>out of date: probe it again</source>
      <translation>قديمة: اختبره مجددًا</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>something changed since it was probed</source>
      <translation>تغيّر شيء منذ اختباره</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>the lane is in quarantine</source>
      <translation>المسار في الحجر</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>{count} tokens a second</source>
      <translation>{count} رمزًا في الثانية</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/certificates.py"></location>
      <source>{value} (limit {gate})</source>
      <translation>{value} (الحد {gate})</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/desktop_notices.py"></location>
      <source>Open Synapse</source>
      <translation>افتح Synapse</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/desktop_notices.py"></location>
      <source>Show</source>
      <translation>عرض</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/desktop_notices.py"></location>
      <source>Try again</source>
      <translation>حاول مجددًا</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/figures.py"></location>
      <source>{hours} h {minutes} min</source>
      <translation>{hours} س {minutes} د</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/figures.py"></location>
      <source>{minutes} min {seconds} s</source>
      <translation>{minutes} د {seconds} ث</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/figures.py"></location>
      <source>{n} s</source>
      <translation>
        <numerusform>{n} ث</numerusform>
        <numerusform>{n} ث</numerusform>
        <numerusform>{n} ث</numerusform>
        <numerusform>{n} ث</numerusform>
        <numerusform>{n} ث</numerusform>
        <numerusform>{n} ث</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/figures.py"></location>
      <source>{size}/s</source>
      <translation>{size}/ث</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/figures.py"></location>
      <source>{value} ms</source>
      <translation>{value} م.ث</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Download failed</source>
      <translation>فشل التنزيل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Job done</source>
      <translation>اكتملت المهمة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Job failed</source>
      <translation>فشلت المهمة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Lane in quarantine</source>
      <translation>مسار في الحجر</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Lanes take requests again.</source>
      <translation>عادت المسارات تقبل الطلبات.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Model installed</source>
      <translation>ثُبّت النموذج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Pause ended</source>
      <translation>انتهى الإيقاف المؤقت</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>Self-check failed</source>
      <translation>فشل الفحص الذاتي</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/notify.py"></location>
      <source>and {n} more</source>
      <translation>
        <numerusform>و{n} أخرى</numerusform>
        <numerusform>و{n} أخرى</numerusform>
        <numerusform>و{n} أخرى</numerusform>
        <numerusform>و{n} أخرى</numerusform>
        <numerusform>و{n} أخرى</numerusform>
        <numerusform>و{n} أخرى</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>unknown reason</source>
      <translation>سبب غير معروف</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>{model} could not be downloaded: {reason}</source>
      <translation>تعذّر تنزيل {model}: {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>{model} failed twice in a row and rests for a while.</source>
      <translation>تعطّل {model} مرتين متتاليتين ويستريح لبعض الوقت.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>{model} gives wrong results on this machine and isn't used.</source>
      <translation>يعطي {model} نتائج خاطئة على هذا الجهاز ولذلك لا يُستخدم.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/notify.py"></location>
      <source>{model} is ready to use.</source>
      <translation>{model} جاهز للاستخدام.</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/notify.py"></location>
      <source>{n} items are done.</source>
      <translation>
        <numerusform>أُنجز {n} عنصر.</numerusform>
        <numerusform>أُنجز عنصر واحد ({n}).</numerusform>
        <numerusform>أُنجز عنصران ({n}).</numerusform>
        <numerusform>أُنجزت {n} عناصر.</numerusform>
        <numerusform>أُنجز {n} عنصرًا.</numerusform>
        <numerusform>أُنجز {n} عنصر.</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>&amp;Copy diagnostics</source>
      <translation>ا&amp;نسخ التشخيص</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Activity</source>
      <translation>النشاط</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Diagnostics copied.</source>
      <translation>نُسخ التشخيص.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Errors only</source>
      <translation>الأخطاء فقط</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Everything</source>
      <translation>كل شيء</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Information and above</source>
      <translation>المعلومات وما فوقها</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Level</source>
      <translation>المستوى</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Log entries</source>
      <translation>مدخلات السجل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Search the log</source>
      <translation>ابحث في السجل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>Warnings and errors</source>
      <translation>التحذيرات والأخطاء</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>{n} entries</source>
      <translation>
        <numerusform>لا مدخلات ({n})</numerusform>
        <numerusform>مدخل واحد ({n})</numerusform>
        <numerusform>مدخلان ({n})</numerusform>
        <numerusform>{n} مدخلات</numerusform>
        <numerusform>{n} مدخلًا</numerusform>
        <numerusform>{n} مدخل</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/pages/activity.py"></location>
      <source>{n} entries were dropped because they came too fast</source>
      <translation>
        <numerusform>لم يُسقط أي مدخل ({n})</numerusform>
        <numerusform>أُسقط مدخل واحد ({n}) لأنه وصل بسرعة كبيرة</numerusform>
        <numerusform>أُسقط مدخلان ({n}) لأنهما وصلا بسرعة كبيرة</numerusform>
        <numerusform>أُسقطت {n} مدخلات لأنها وصلت بسرعة كبيرة</numerusform>
        <numerusform>أُسقط {n} مدخلًا لأنها وصلت بسرعة كبيرة</numerusform>
        <numerusform>أُسقط {n} مدخل لأنها وصلت بسرعة كبيرة</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/base.py"></location>
      <source>Reading…</source>
      <translation>تجري القراءة…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/base.py"></location>
      <source>The service is older than this application. Install both in one version.</source>
      <translation>الخدمة أقدم من هذا التطبيق. ثبّت كليهما بالإصدار نفسه.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/base.py"></location>
      <source>There is no connection to the service: {state}.</source>
      <translation>لا اتصال بالخدمة: {state}.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Apps of this user reach the service at this socket, without a key and without a network.</source>
      <translation>تصل تطبيقات هذا المستخدم إلى الخدمة عبر هذا المقبس، بلا مفتاح وبلا شبكة.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Connect</source>
      <translation>الاتصال</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Copied</source>
      <translation>نُسخ</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Copy</source>
      <translation>نسخ</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Copy the &amp;program</source>
      <translation>انسخ ال&amp;برنامج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Copy the co&amp;mmand</source>
      <translation>انسخ ال&amp;أمر</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Copy: {what}</source>
      <translation>نسخ: {what}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Languages of programs</source>
      <translation>لغات البرامج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Model</source>
      <translation>النموذج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>No model that embeds is installed yet; the command lines name one that isn't there.</source>
      <translation>لم يُثبَّت بعد نموذج للتضمين؛ تسمّي أسطر الأوامر نموذجًا غير موجود.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Node</source>
      <translation>نود</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Program: {file}</source>
      <translation>البرنامج: {file}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Python</source>
      <translation>بايثون</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Save this as {file}. It needs Node 18 or newer, and no package.</source>
      <translation>احفظه باسم {file}. يحتاج إلى Node 18 أو أحدث، ولا يحتاج إلى أي حزمة.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Save this as {file}. It needs socat, or an nc that knows Unix sockets.</source>
      <translation>احفظه باسم {file}. يحتاج إلى socat أو إلى nc يعرف مقابس يونكس.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Save this as {file}. It needs the package synapse in the Python that runs it.</source>
      <translation>احفظه باسم {file}. يحتاج إلى الحزمة synapse في بايثون الذي يشغّله.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Shell</source>
      <translation>الصدفة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/connect.py"></location>
      <source>Socket</source>
      <translation>المقبس</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>&amp;Choose models</source>
      <translation>ا&amp;ختر النماذج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>&amp;Look again</source>
      <translation>ا&amp;نظر مجددًا</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>&amp;Start with my session</source>
      <translation>ا&amp;بدأ مع جلستي</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Compute on the &amp;processor</source>
      <translation>احسب على الم&amp;عالج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Computing on the processor</source>
      <translation>الحساب على المعالج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Fixed by {variable}</source>
      <translation>مثبّت بواسطة {variable}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>No supported accelerator was found, so models can only run on the processor. It is slower, and works.</source>
      <translation>لم يُعثر على مسرّع مدعوم، فلا تعمل النماذج إلا على المعالج. هذا أبطأ، لكنه يعمل.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Starting</source>
      <translation>بدء التشغيل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Synapse runs models on this machine for all your apps. What you choose here can be changed later.</source>
      <translation>يشغّل Synapse النماذج على هذا الجهاز لكل تطبيقاتك. ما تختاره هنا يمكن تغييره لاحقًا.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>This machine has an accelerator, so the processor is only needed for models that don't run there.</source>
      <translation>في هذا الجهاز مسرّع، فلا يُحتاج إلى المعالج إلا للنماذج التي لا تعمل عليه.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>This processor can't compute models.</source>
      <translation>هذا المعالج لا يستطيع حساب النماذج.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Welcome to Synapse</source>
      <translation>مرحبًا بك في Synapse</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>What this machine can run</source>
      <translation>ما يستطيع هذا الجهاز تشغيله</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>Where models are kept</source>
      <translation>مكان حفظ النماذج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/first_run.py"></location>
      <source>can run models</source>
      <translation>يستطيع تشغيل النماذج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Asked for by</source>
      <translation>طلبها</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Begun</source>
      <translation>بدأت</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Ended</source>
      <translation>انتهت</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Identifier</source>
      <translation>المعرّف</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>It was cancelled. What it had committed stays readable.</source>
      <translation>أُلغيت. ما ثبّتته يبقى مقروءًا.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Kept until</source>
      <translation>محفوظة حتى</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Pages that can be read</source>
      <translation>الصفحات المقروءة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>Progress</source>
      <translation>التقدم</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>State</source>
      <translation>الحالة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>an app without a name</source>
      <translation>تطبيق بلا اسم</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>{count} a second</source>
      <translation>{count} في الثانية</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>{done} of {total}</source>
      <translation>{done} من {total}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/job_rows.py"></location>
      <source>{time} left</source>
      <translation>بقي {time}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>&amp;Cancel the job</source>
      <translation>&amp;ألغِ المهمة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>All jobs</source>
      <translation>كل المهام</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>Ended</source>
      <comment>jobs</comment>
      <translation>المنتهية</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>Going on</source>
      <translation>الجارية</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>Jobs</source>
      <translation>المهام</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>Nothing has run yet. Downloads, probes and large batches of apps appear here by themselves.</source>
      <translation>لم يُنفَّذ شيء بعد. التنزيلات والاختبارات والدفعات الكبيرة من التطبيقات تظهر هنا تلقائيًا.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>The newest {count} jobs are shown, and all that are going on.</source>
      <translation>تظهر هنا أحدث المهام (حتى {count}) وكل المهام الجارية.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>There is no such job. Choose “All jobs” to see the others.</source>
      <translation>لا مهمة كهذه. اختر «كل المهام» لترى البقية.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/jobs.py"></location>
      <source>Which jobs are shown</source>
      <translation>المهام المعروضة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Answer time</source>
      <translation>زمن الإجابة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Computes on</source>
      <translation>يحسب على</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Files kept for</source>
      <translation>ملفات محفوظة لأجل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Fingerprint</source>
      <translation>البصمة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>It gave wrong results in its self-check on this machine, so it isn't used.</source>
      <translation>أعطى نتائج خاطئة في فحصه الذاتي على هذا الجهاز، لذلك لا يُستخدم.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>It is tried again in {time}.</source>
      <translation>تُعاد المحاولة بعد {time}.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Last used</source>
      <translation>آخر استخدام</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Memory</source>
      <translation>الذاكرة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Probe it to release it.</source>
      <translation>اختبره لتحريره.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Requests</source>
      <translation>الطلبات</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Self-check</source>
      <translation>الفحص الذاتي</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Stays loaded</source>
      <translation>يبقى محمّلًا</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>The pause waits: something doesn't end ({reason})</source>
      <translation>الإيقاف ينتظر: شيء ما لا ينتهي ({reason})</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>This lane failed twice in a row ({reason}) and takes no requests.</source>
      <translation>فشل هذا المسار مرتين متتاليتين ({reason}) ولا يقبل طلبات.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>Used by</source>
      <translation>يستخدمه</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>always</source>
      <translation>دائمًا</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>answered: {count}</source>
      <translation>مُجابة: {count}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>being computed: {count}</source>
      <translation>قيد الحساب: {count}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>for another {time} if nobody uses it</source>
      <translation>{time} أخرى إن لم يستخدمه أحد</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>nobody since it was loaded</source>
      <translation>لا أحد منذ تحميله</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>none</source>
      <translation>لا شيء</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>paused until it is resumed ({reason})</source>
      <translation>موقوف مؤقتًا حتى الاستئناف ({reason})</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>paused until {time}, {left} left ({reason})</source>
      <translation>موقوف مؤقتًا حتى {time}، بقي {left} ({reason})</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>refused: {count}</source>
      <translation>مرفوضة: {count}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>requests: {count}</source>
      <translation>الطلبات: {count}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>until it is probed</source>
      <translation>حتى يُختبر</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>usually {time}</source>
      <translation>عادةً {time}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>waiting: {count}</source>
      <translation>منتظرة: {count}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>{time} for 95 of 100</source>
      <translation>{time} لـ 95 من 100</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lane_rows.py"></location>
      <source>{time} for half of the answers</source>
      <translation>{time} لنصف الإجابات</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>&amp;Keep it loaded</source>
      <translation>أبقِه &amp;محمّلًا</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>&amp;Load</source>
      <translation>&amp;تحميل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>&amp;Pause all lanes</source>
      <translation>أوقف &amp;كل المسارات مؤقتًا</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>&amp;Resume all lanes</source>
      <translation>&amp;استأنف كل المسارات</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>&amp;Unload</source>
      <translation>إ&amp;فراغ</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>For {n} minutes</source>
      <translation>
        <numerusform>لمدة {n} دقيقة</numerusform>
        <numerusform>لمدة دقيقة واحدة ({n})</numerusform>
        <numerusform>لمدة دقيقتين ({n})</numerusform>
        <numerusform>لمدة {n} دقائق</numerusform>
        <numerusform>لمدة {n} دقيقة</numerusform>
        <numerusform>لمدة {n} دقيقة</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Lanes</source>
      <translation>المسارات</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Length of the pause</source>
      <translation>مدة الإيقاف</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>No model is installed yet, so there is no lane. Install one, or add a model of your own.</source>
      <translation>لم يُثبَّت أي نموذج بعد، فلا مسارات. ثبّت نموذجًا أو أضف نموذجًا من عندك.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Open the models</source>
      <translation>افتح النماذج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Pause all lanes to have this machine's memory for something else.</source>
      <translation>أوقف كل المسارات مؤقتًا لتتاح ذاكرة هذا الجهاز لشيء آخر.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Paused in the window</source>
      <translation>أُوقف مؤقتًا من النافذة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Reason of the pause</source>
      <translation>سبب الإيقاف</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Reason, for others to read</source>
      <translation>السبب، ليقرأه الآخرون</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/lanes.py"></location>
      <source>Until resumed</source>
      <translation>حتى الاستئناف</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Download</source>
      <translation>تنزيل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>It needs {need}, and {free} are free on the disk of the models.</source>
      <translation>يحتاج إلى {need}، والمتاح على قرص النماذج {free}.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>It takes requests once a probe on this machine has certified it.</source>
      <translation>يقبل الطلبات بعد أن يعتمده اختبار على هذا الجهاز.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Licence</source>
      <translation>الرخصة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Longest text</source>
      <translation>أطول نص</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Made for</source>
      <translation>الغرض</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Models take more than the limit that is set. Remove models, or raise the limit in the settings.</source>
      <translation>تشغل النماذج أكثر من الحد المضبوط. أزل نماذج أو ارفع الحد في الإعدادات.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Models take {used} of {limit}; {free} are free on their disk.</source>
      <translation>تشغل النماذج {used} من {limit}؛ والمتاح على قرصها {free}.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Nothing on this machine can run it; the reasons are below.</source>
      <translation>لا شيء في هذا الجهاز يستطيع تشغيله؛ الأسباب أدناه.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>On the disk</source>
      <translation>على القرص</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Only {free} are free on the disk of the models. Remove models, or move them to another folder.</source>
      <translation>المتاح على قرص النماذج {free} فقط. أزل نماذج أو انقلها إلى مجلد آخر.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Remove it and download it again, or use another model.</source>
      <translation>أزله ونزّله مجددًا، أو استخدم نموذجًا آخر.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Runs on</source>
      <translation>يعمل على</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Size</source>
      <translation>الحجم</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>Source</source>
      <translation>المصدر</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>can't run on this machine</source>
      <translation>لا يعمل على هذا الجهاز</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>download failed</source>
      <translation>فشل التنزيل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>everything is here and is being verified</source>
      <translation>وصل كل شيء ويجري التحقق منه</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>installed</source>
      <translation>مثبّت</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>is being removed</source>
      <translation>تجري إزالته</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>kept by a pin</source>
      <translation>محفوظ بتثبيت</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>not certified</source>
      <translation>غير معتمد</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>not installed</source>
      <translation>غير مثبّت</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>nothing yet</source>
      <translation>لا شيء بعد</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>outdated</source>
      <translation>قديم</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>recommended</source>
      <translation>موصى به</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>see its page at the source</source>
      <translation>انظر صفحته لدى المصدر</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>self-check failed</source>
      <translation>فشل الفحص الذاتي</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>waits for its turn</source>
      <translation>ينتظر دوره</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>your own model</source>
      <translation>نموذجك الخاص</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>{count} tokens</source>
      <translation>{count} رمزًا</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>{device}: no, {reason}</source>
      <translation>{device}: لا، {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>{device}: yes</source>
      <translation>{device}: نعم</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>{size} are arriving.</source>
      <translation>{size} في الطريق.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/model_rows.py"></location>
      <source>{size} of it shared with other models</source>
      <translation>منها {size} مشتركة مع نماذج أخرى</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Add your own model…</source>
      <translation>أ&amp;ضف نموذجك الخاص…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Cancel the download</source>
      <translation>&amp;ألغِ التنزيل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Certificate</source>
      <translation>ال&amp;شهادة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Download</source>
      <translation>&amp;نزّل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;I know</source>
      <translation>&amp;علمت</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Probe</source>
      <translation>ا&amp;ختبر</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Remove</source>
      <translation>أ&amp;زل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>&amp;Undo</source>
      <translation>&amp;تراجع</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>All models</source>
      <translation>كل النماذج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>Can run here</source>
      <translation>يمكن تشغيلها هنا</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>For embedding</source>
      <translation>للتضمين</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>For reranking</source>
      <translation>لإعادة الترتيب</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>It is held by {holders}. Unload it and let its work end first.</source>
      <translation>يمسك به {holders}. أفرغه أولًا ودع عمله ينتهي.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>Models</source>
      <translation>النماذج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>No model matches. Change the search, or choose “All models”.</source>
      <translation>لا نموذج مطابق. غيّر البحث أو اختر «كل النماذج».</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>On this machine</source>
      <translation>على هذا الجهاز</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>Search the models</source>
      <translation>ابحث في النماذج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>The fingerprint of {models} changed. Indexes that were made with the old one need re-embedding.</source>
      <translation>تغيّرت بصمة {models}. الفهارس المصنوعة بالبصمة القديمة تحتاج إلى تضمين جديد.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>Try &amp;again</source>
      <translation>&amp;أعد المحاولة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>Which models are shown</source>
      <translation>النماذج المعروضة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>Your own</source>
      <translation>الخاصة بك</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>{model} is about to be removed from the disk.</source>
      <translation>{model} على وشك أن يُزال من القرص.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/models.py"></location>
      <source>{model} is in use ({holders}). Unload it and let its work end first.</source>
      <translation>{model} قيد الاستخدام ({holders}). أفرغه أولًا ودع عمله ينتهي.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>&amp;Add and probe</source>
      <translation>أ&amp;ضف واختبر</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>&amp;Back</source>
      <translation>&amp;رجوع</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>&amp;Choose…</source>
      <translation>ا&amp;ختر…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>A folder with model.safetensors and tokenizer.json</source>
      <translation>مجلد فيه model.safetensors و tokenizer.json</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Compute on</source>
      <translation>احسب على</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Folder</source>
      <translation>المجلد</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Folder of a model</source>
      <translation>مجلد نموذج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Found: {files}</source>
      <translation>وُجد: {files}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>It is ready to use.</source>
      <translation>جاهز للاستخدام.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Its results are compared with the reference: {progress}</source>
      <translation>تُقارن نتائجه بالمرجع: {progress}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Missing: {files}. Choose the folder that holds them.</source>
      <translation>ينقص: {files}. اختر المجلد الذي يحتويها.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Name</source>
      <translation>الاسم</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Pooling</source>
      <translation>التجميع</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>Reading the files: {progress}</source>
      <translation>تُقرأ الملفات: {progress}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>S&amp;top</source>
      <translation>أ&amp;وقف</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>The folder can't be read: {reason}</source>
      <translation>تتعذر قراءة المجلد: {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>The service takes the files over and reads them: {progress}</source>
      <translation>تتسلّم الخدمة الملفات وتقرؤها: {progress}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>What it does</source>
      <translation>ما يفعله</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>first token</source>
      <translation>الرمز الأول</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>last token</source>
      <translation>الرمز الأخير</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>mean of all tokens</source>
      <translation>متوسط كل الرموز</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/own_model.py"></location>
      <source>{file} can't be read: {reason}</source>
      <translation>لا يمكن قراءة {file}: {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/playground.py"></location>
      <source>Playground</source>
      <translation>ساحة التجربة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Allow grammars in text generation</source>
      <translation>اسمح بالقواعد النحوية عند توليد النص</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Compute on the processor</source>
      <translation>احسب على المعالج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Connections at a time</source>
      <translation>الاتصالات في وقت واحد</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Downloads</source>
      <translation>التنزيلات</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>File with trusted certificates</source>
      <translation>ملف الشهادات الموثوقة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Folder for model files</source>
      <translation>مجلد ملفات النماذج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>How long results of jobs are kept</source>
      <translation>مدة الاحتفاظ بنتائج المهام</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Least severe log entries</source>
      <translation>أقل مدخلات السجل أهمية</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Let apps declare model aliases</source>
      <translation>اسمح للتطبيقات بتعريف أسماء بديلة للنماذج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Limits and logging</source>
      <translation>الحدود والسجل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Longest wait in the queue</source>
      <translation>أطول انتظار في الطابور</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Models that are loaded at the start</source>
      <translation>النماذج التي تُحمَّل عند البدء</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Proxy for downloads</source>
      <translation>وكيل التنزيلات</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Record what engines get</source>
      <translation>سجّل ما تتلقاه المحركات</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Requests at a time on a connection</source>
      <translation>الطلبات المتزامنة على الاتصال الواحد</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Requests that may wait for a lane</source>
      <translation>الطلبات التي قد تنتظر مسارًا</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Settings</source>
      <translation>الإعدادات</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Size of one request</source>
      <translation>حجم الطلب الواحد</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Space for model files</source>
      <translation>المساحة المخصصة لملفات النماذج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Speed or quiet</source>
      <translation>السرعة أم الهدوء</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Storage</source>
      <translation>التخزين</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Texts in one request</source>
      <translation>النصوص في الطلب الواحد</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>This application</source>
      <translation>هذا التطبيق</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Threads for each processor lane</source>
      <translation>خيوط كل مسار على المعالج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Time for one request</source>
      <translation>زمن الطلب الواحد</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Time of bulk work at a time</source>
      <translation>زمن دفعة العمل الكبير الواحدة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Tokens in one request</source>
      <translation>الرموز في الطلب الواحد</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Tokens of bulk work at a time</source>
      <translation>رموز دفعة العمل الكبير الواحدة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Tokens of one generated answer</source>
      <translation>رموز الجواب المولَّد الواحد</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Unload a lane that nobody has used for</source>
      <translation>أفرغ المسار الذي لم يستخدمه أحد منذ</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/pages/settings.py"></location>
      <source>Where models are downloaded from</source>
      <translation>من أين تُنزَّل النماذج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/heat_map.py"></location>
      <source>Similarities</source>
      <translation>درجات التشابه</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/heat_map.py"></location>
      <source>{one} and {other}: {score}</source>
      <translation>{one} و{other}: {score}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/panel.py"></location>
      <source>No model serves this yet</source>
      <translation>لا يوجد نموذج لهذا بعد</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>A question</source>
      <translation>سؤال</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Answers by score</source>
      <translation>الإجابات حسب الدرجة</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>At most {n} answers are scored.</source>
      <translation>
        <numerusform>تُقيَّم {n} إجابة على الأكثر.</numerusform>
        <numerusform>تُقيَّم إجابة واحدة ({n}) على الأكثر.</numerusform>
        <numerusform>تُقيَّم إجابتان ({n}) على الأكثر.</numerusform>
        <numerusform>تُقيَّم {n} إجابات على الأكثر.</numerusform>
        <numerusform>تُقيَّم {n} إجابة على الأكثر.</numerusform>
        <numerusform>تُقيَّم {n} إجابة على الأكثر.</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Possible answers</source>
      <translation>الإجابات المحتملة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Possible answers, each on a line of its own</source>
      <translation>إجابات محتملة، كل واحدة في سطر</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Question</source>
      <translation>السؤال</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Rerank</source>
      <translation>إعادة الترتيب</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Score</source>
      <translation>قيّم</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/ranking.py"></location>
      <source>Scores are the model's own, from 0 to 1, and can't be compared with those of another model.</source>
      <translation>الدرجات هي درجات النموذج نفسه، من 0 إلى 1، ولا تصح مقارنتها بدرجات نموذج آخر.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Cancel</source>
      <translation>إلغاء</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Choose a folder…</source>
      <translation>اختر مجلدًا…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Files that were left out</source>
      <translation>الملفات المستبعدة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Passages found</source>
      <translation>المقاطع التي عُثر عليها</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Reading the files…</source>
      <translation>تُقرأ الملفات…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Reads up to {files} UTF-8 files of up to {size}, {passages} passages in all. Nothing is stored.</source>
      <translation>يقرأ حتى {files} ملف UTF-8 لا يتجاوز حجم كل منها {size}، ومجموعها {passages} مقطع. لا يُخزَّن شيء.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Search</source>
      <translation>بحث</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>Search a folder</source>
      <translation>البحث في مجلد</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>What do you look for?</source>
      <translation>عمّ تبحث؟</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>a link</source>
      <translation>رابط</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>can't be read</source>
      <translation>تتعذر قراءته</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>empty</source>
      <translation>فارغ</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>indexed with {lane}</source>
      <translation>فُهرست بواسطة {lane}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>not UTF-8 text</source>
      <translation>ليس نص UTF-8</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>not a file</source>
      <translation>ليس ملفًا</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>over the limit</source>
      <translation>فوق الحد</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>too large</source>
      <translation>كبير جدًا</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>{file}, line {line}</source>
      <translation>{file}، السطر {line}</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>{n} files</source>
      <translation>
        <numerusform>{n} ملف</numerusform>
        <numerusform>ملف واحد ({n})</numerusform>
        <numerusform>ملفان ({n})</numerusform>
        <numerusform>{n} ملفات</numerusform>
        <numerusform>{n} ملفًا</numerusform>
        <numerusform>{n} ملف</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>{n} files left out</source>
      <translation>
        <numerusform>استُبعد {n} ملف</numerusform>
        <numerusform>استُبعد ملف واحد ({n})</numerusform>
        <numerusform>استُبعد ملفان ({n})</numerusform>
        <numerusform>استُبعدت {n} ملفات</numerusform>
        <numerusform>استُبعد {n} ملفًا</numerusform>
        <numerusform>استُبعد {n} ملف</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/playground/searching.py"></location>
      <source>{n} passages</source>
      <translation>
        <numerusform>{n} مقطع</numerusform>
        <numerusform>مقطع واحد ({n})</numerusform>
        <numerusform>مقطعان ({n})</numerusform>
        <numerusform>{n} مقاطع</numerusform>
        <numerusform>{n} مقطعًا</numerusform>
        <numerusform>{n} مقطع</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/playground/similar.py"></location>
      <source>At most {n} texts are compared.</source>
      <translation>
        <numerusform>يُقارن {n} نص على الأكثر.</numerusform>
        <numerusform>يُقارن نص واحد ({n}) على الأكثر.</numerusform>
        <numerusform>يُقارن نصان ({n}) على الأكثر.</numerusform>
        <numerusform>تُقارن {n} نصوص على الأكثر.</numerusform>
        <numerusform>يُقارن {n} نصًا على الأكثر.</numerusform>
        <numerusform>يُقارن {n} نص على الأكثر.</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/similar.py"></location>
      <source>Compare</source>
      <translation>قارن</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/similar.py"></location>
      <source>Similar texts</source>
      <translation>نصوص متشابهة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/similar.py"></location>
      <source>Texts to compare</source>
      <translation>النصوص المراد مقارنتها</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/similar.py"></location>
      <source>The stronger the colour, the more alike.</source>
      <translation>كلما قوي اللون زاد التشابه.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/playground/similar.py"></location>
      <source>Two texts or more, each on a line of its own</source>
      <translation>نصان أو أكثر، كل واحد في سطر</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>Cancelled.</source>
      <translation>أُلغي.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>Something still uses this model. Unload it and let its work end first.</source>
      <translation>ما زال شيء يستخدم هذا النموذج. أفرغه ودع عمله ينتهي أولًا.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>Synapse is closing.</source>
      <translation>يجري إغلاق Synapse.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The connection to the service ended. Look at the state before you try again.</source>
      <translation>انقطع الاتصال بالخدمة. تحقق من الحالة قبل أن تحاول مرة أخرى.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The download failed. Check the network and try again; what has arrived is kept.</source>
      <translation>فشل التنزيل. تحقق من الشبكة وحاول مرة أخرى؛ ما وصل محفوظ.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The files aren't what they should be. Get them again, and then try again.</source>
      <translation>الملفات ليست كما ينبغي. احصل عليها مجددًا ثم أعد المحاولة.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service could not be started. Run “synapse doctor” to see what is wrong.</source>
      <translation>تعذّر بدء الخدمة. شغّل «synapse doctor» لمعرفة السبب.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service could not write to its disk. Make sure that the disk isn't full.</source>
      <translation>لم تستطع الخدمة الكتابة على القرص. تأكد من أنه غير ممتلئ.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service did not answer in time. It may be busy; try again, or restart it.</source>
      <translation>لم تُجب الخدمة في الوقت المناسب. ربما تكون مشغولة؛ حاول مرة أخرى أو أعد تشغيلها.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service is not running. Start it from the tray menu.</source>
      <translation>الخدمة لا تعمل. ابدأها من قائمة الأيقونة.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service is too busy at the moment. Try again shortly.</source>
      <translation>الخدمة مشغولة جدًا حاليًا. حاول بعد قليل.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service stopped while this was going on. Start it again.</source>
      <translation>توقفت الخدمة أثناء ذلك. ابدأ من جديد.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service was asked to stop and still runs. Try again, or end its process.</source>
      <translation>طُلب من الخدمة التوقف وما زالت تعمل. حاول مرة أخرى أو أنهِ عمليتها.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>The service's socket belongs to somebody else or can't be opened. Run “synapse doctor” to see who owns it.</source>
      <translation>مقبس الخدمة يخص شخصًا آخر أو لا يمكن فتحه. شغّل «synapse doctor» لمعرفة مالكه.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>This lane is paused. Resume it, or wait until the pause ends.</source>
      <translation>هذا المسار موقوف مؤقتًا. استأنفه أو انتظر انتهاء الإيقاف.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>This machine can't run that model.</source>
      <translation>لا يستطيع هذا الجهاز تشغيل هذا النموذج.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>This model failed its self-check on this machine, so it isn't used.</source>
      <translation>لم يجتز هذا النموذج فحصه الذاتي على هذا الجهاز، لذلك لا يُستخدم.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>Too much is waiting for this lane. Try again shortly.</source>
      <translation>ينتظر هذا المسار عمل كثير. حاول بعد قليل.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/problems.py"></location>
      <source>Tray and service don't understand each other. Install both in one version.</source>
      <translation>لا يفهم التطبيق والخدمة أحدهما الآخر. ثبّت كليهما بالإصدار نفسه.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Awake again: the lanes are being checked…</source>
      <translation>استيقظ الجهاز: تُفحص المسارات…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Close tray</source>
      <translation>أغلق الأيقونة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Close tray (the service keeps running)</source>
      <translation>أغلق الأيقونة (تبقى الخدمة عاملة)</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Looking for the service…</source>
      <translation>يجري البحث عن الخدمة…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Pause all lanes</source>
      <translation>أوقف كل المسارات مؤقتًا</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Ready</source>
      <translation>جاهز</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Resume all lanes</source>
      <translation>استأنف كل المسارات</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Service {version} is another version than this</source>
      <translation>إصدار الخدمة {version} يختلف عن هذا التطبيق</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Settings…</source>
      <translation>الإعدادات…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Start the service</source>
      <translation>ابدأ الخدمة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>Stop the service…</source>
      <translation>أوقف الخدمة…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service doesn't answer</source>
      <translation>الخدمة لا تجيب</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service has another version</source>
      <translation>للخدمة إصدار آخر</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service is not running</source>
      <translation>الخدمة لا تعمل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service is starting…</source>
      <translation>تبدأ الخدمة…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service is stopping…</source>
      <translation>تتوقف الخدمة…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service was stopped</source>
      <translation>أُوقفت الخدمة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>The service's socket can't be used</source>
      <translation>لا يمكن استخدام مقبس الخدمة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>loading</source>
      <translation>قيد التحميل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>paused</source>
      <translation>موقوف مؤقتًا</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>ready</source>
      <translation>جاهز</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>{lane} — {state}</source>
      <translation>{lane} — {state}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/tray.py"></location>
      <source>{model} — {progress}</source>
      <translation>{model} — {progress}</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/tray.py"></location>
      <source>{n} downloads running</source>
      <translation>
        <numerusform>لا تنزيلات جارية ({n})</numerusform>
        <numerusform>تنزيل واحد جارٍ ({n})</numerusform>
        <numerusform>تنزيلان جاريان ({n})</numerusform>
        <numerusform>{n} تنزيلات جارية</numerusform>
        <numerusform>{n} تنزيلًا جاريًا</numerusform>
        <numerusform>{n} تنزيل جارٍ</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/tray.py"></location>
      <source>{n} jobs running</source>
      <translation>
        <numerusform>لا مهام جارية ({n})</numerusform>
        <numerusform>مهمة واحدة جارية ({n})</numerusform>
        <numerusform>مهمتان جاريتان ({n})</numerusform>
        <numerusform>{n} مهام جارية</numerusform>
        <numerusform>{n} مهمة جارية</numerusform>
        <numerusform>{n} مهمة جارية</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/tray.py"></location>
      <source>{n} lanes loaded</source>
      <translation>
        <numerusform>لا مسارات محمّلة ({n})</numerusform>
        <numerusform>مسار واحد محمّل ({n})</numerusform>
        <numerusform>مساران محمّلان ({n})</numerusform>
        <numerusform>{n} مسارات محمّلة</numerusform>
        <numerusform>{n} مسارًا محمّلًا</numerusform>
        <numerusform>{n} مسار محمّل</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/autostart_box.py"></location>
      <source>That could not be changed: {reason}</source>
      <translation>تعذّر تغيير ذلك: {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Appearance</source>
      <translation>المظهر</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>As the system</source>
      <translation>كما في النظام</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Dark</source>
      <translation>داكن</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Full</source>
      <translation>كاملة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Language</source>
      <translation>اللغة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Light</source>
      <translation>فاتح</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Motion</source>
      <translation>الحركة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Notify me when a download is done or failed</source>
      <translation>أبلغني عند انتهاء تنزيل أو فشله</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Notify me when a job is done or failed</source>
      <translation>أبلغني عند اكتمال مهمة أو فشلها</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Notify me when a lane goes into quarantine</source>
      <translation>أبلغني عند دخول مسار إلى الحجر</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Notify me when a pause ends</source>
      <translation>أبلغني عند انتهاء إيقاف مؤقت</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Notify me when a self-check fails</source>
      <translation>أبلغني عند فشل فحص ذاتي</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Reduced</source>
      <translation>مخفّفة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Show the welcome page again</source>
      <translation>أظهر صفحة الترحيب مجددًا</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Start with my session</source>
      <translation>ابدأ مع جلستي</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/own_settings.py"></location>
      <source>Text size</source>
      <translation>حجم النص</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>Balanced</source>
      <comment>a setting</comment>
      <translation>متوازن</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>Changed from {default}</source>
      <translation>غُيّر من {default}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>Default</source>
      <translation>القيمة الافتراضية</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>GB</source>
      <comment>gigabytes, after a number</comment>
      <translation>غ.ب</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>MB</source>
      <comment>megabytes, after a number</comment>
      <translation>م.ب</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>Performance</source>
      <comment>a setting</comment>
      <translation>الأداء</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>Quiet</source>
      <comment>a setting</comment>
      <translation>هادئ</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>Use default</source>
      <translation>استخدم القيمة الافتراضية</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>Use the default of {setting}</source>
      <translation>استخدم القيمة الافتراضية: {setting}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>h</source>
      <comment>hours, after a number</comment>
      <translation>س</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>min</source>
      <comment>minutes, after a number</comment>
      <translation>د</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>nothing</source>
      <translation>لا شيء</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>off</source>
      <translation>معطّل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>on</source>
      <translation>مفعّل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>s</source>
      <comment>seconds, after a number</comment>
      <translation>ث</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>takes effect when the service starts again</source>
      <translation>يسري عند بدء الخدمة من جديد</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>{low} to {high}</source>
      <translation>من {low} إلى {high}</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/widgets/setting_row.py"></location>
      <source>{n} in the configuration file</source>
      <translation>
        <numerusform>{n} في ملف الإعدادات</numerusform>
        <numerusform>{n} في ملف الإعدادات</numerusform>
        <numerusform>{n} في ملف الإعدادات</numerusform>
        <numerusform>{n} في ملف الإعدادات</numerusform>
        <numerusform>{n} في ملف الإعدادات</numerusform>
        <numerusform>{n} في ملف الإعدادات</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Another service uses this folder. Stop that one.</source>
      <translation>تستخدم خدمة أخرى هذا المجلد. أوقفها.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>In use.</source>
      <translation>قيد الاستخدام.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>It is too late to take the move back.</source>
      <translation>فات أوان التراجع عن النقل.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Move the models…</source>
      <translation>انقل النماذج…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Move them to the usual folder</source>
      <translation>انقلها إلى المجلد المعتاد</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Moving to {folder}: {share}</source>
      <translation>النقل إلى {folder}: {share}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Moving to {folder}: {share}, {time} left</source>
      <translation>النقل إلى {folder}: {share}، بقي {time}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>One of the two folders lies in the other. Choose one beside it.</source>
      <translation>أحد المجلدين داخل الآخر. اختر مجلدًا بجانبه.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Something else lies in that folder. Choose an empty one.</source>
      <translation>في ذلك المجلد شيء آخر. اختر مجلدًا فارغًا.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Take the move back</source>
      <translation>تراجع عن النقل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The disk can't be written. Make it writable.</source>
      <translation>لا يمكن الكتابة على القرص. اجعله قابلًا للكتابة.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The folder isn't there. Plug in its disk, or choose another folder.</source>
      <translation>المجلد غير موجود. صِل قرصه أو اختر مجلدًا آخر.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The last files are being put in order…</source>
      <translation>تُرتَّب آخر الملفات…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The last move failed: {reason}</source>
      <translation>فشل النقل الأخير: {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The last move was taken back.</source>
      <translation>جرى التراجع عن النقل الأخير.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The models are being moved.</source>
      <translation>تُنقل النماذج الآن.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The models are in that folder already.</source>
      <translation>النماذج في ذلك المجلد بالفعل.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The models of this folder are used.</source>
      <translation>تُستخدم نماذج هذا المجلد.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The models were moved.</source>
      <translation>نُقلت النماذج.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The move is being taken back…</source>
      <translation>يجري التراجع عن النقل…</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>The setting was changed, but the models lie elsewhere. Move them, or use what is here.</source>
      <translation>غُيّر الإعداد لكن النماذج في مكان آخر. انقلها أو استخدم ما هنا.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>There are models in that folder already. Use them instead of moving yours there.</source>
      <translation>في ذلك المجلد نماذج بالفعل. استخدمها بدل نقل نماذجك إليه.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>There are no models in that folder.</source>
      <translation>لا توجد نماذج في ذلك المجلد.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>There is no such folder. Make it first.</source>
      <translation>لا يوجد مجلد كهذا. أنشئه أولًا.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>There is not enough space on that disk.</source>
      <translation>لا توجد مساحة كافية على ذلك القرص.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>These are other models than before. Put the right disk back, or use these.</source>
      <translation>هذه نماذج غير السابقة. أعد القرص الصحيح أو استخدم هذه.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>This folder can't be used: it is open to other users, or holds something else.</source>
      <translation>لا يمكن استخدام هذا المجلد: إما مفتوح لمستخدمين آخرين أو يحوي شيئًا آخر.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>Use the models of a folder…</source>
      <translation>استخدم نماذج مجلد…</translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>{n} files are missing: download their models again.</source>
      <translation>
        <numerusform>ينقص {n} ملف: نزّل نموذجه من جديد.</numerusform>
        <numerusform>ينقص ملف واحد ({n}): نزّل نموذجه من جديد.</numerusform>
        <numerusform>ينقص ملفان ({n}): نزّل نموذجيهما من جديد.</numerusform>
        <numerusform>تنقص {n} ملفات: نزّل نماذجها من جديد.</numerusform>
        <numerusform>ينقص {n} ملفًا: نزّل نماذجها من جديد.</numerusform>
        <numerusform>ينقص {n} ملف: نزّل نماذجها من جديد.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>{n} files were damaged and are set aside.</source>
      <translation>
        <numerusform>{n} ملف كان تالفًا ونُحّي جانبًا.</numerusform>
        <numerusform>ملف واحد ({n}) كان تالفًا ونُحّي جانبًا.</numerusform>
        <numerusform>ملفان ({n}) كانا تالفين ونُحّيا جانبًا.</numerusform>
        <numerusform>{n} ملفات كانت تالفة ونُحّيت جانبًا.</numerusform>
        <numerusform>{n} ملفًا كان تالفًا ونُحّي جانبًا.</numerusform>
        <numerusform>{n} ملف كان تالفًا ونُحّي جانبًا.</numerusform>
      </translation>
    </message>
    <message numerus="yes">
      <location filename="../app/synapse_app/widgets/storage_folder.py"></location>
      <source>{n} things still use the models. Unload the lanes and let the work end first.</source>
      <translation>
        <numerusform>ما زال {n} شيء يستخدم النماذج. أفرغ المسارات ودع العمل ينتهي أولًا.</numerusform>
        <numerusform>ما زال شيء واحد ({n}) يستخدم النماذج. أفرغ المسارات ودع العمل ينتهي أولًا.</numerusform>
        <numerusform>ما زال شيئان ({n}) يستخدمان النماذج. أفرغ المسارات ودع العمل ينتهي أولًا.</numerusform>
        <numerusform>ما زالت {n} أشياء تستخدم النماذج. أفرغ المسارات ودع العمل ينتهي أولًا.</numerusform>
        <numerusform>ما زال {n} شيئًا يستخدم النماذج. أفرغ المسارات ودع العمل ينتهي أولًا.</numerusform>
        <numerusform>ما زال {n} شيء يستخدم النماذج. أفرغ المسارات ودع العمل ينتهي أولًا.</numerusform>
      </translation>
    </message>
    <message>
      <location filename="../app/synapse_app/window.py"></location>
      <source>Pages</source>
      <translation>الصفحات</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/window.py"></location>
      <source>This desktop shows no tray icons, so closing this window closes Synapse's tray application.</source>
      <translation>لا يعرض سطح المكتب هذا أيقونات في شريط النظام، لذا يؤدي إغلاق هذه النافذة إلى إغلاق تطبيق Synapse.</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>Adding a model</source>
      <translation>إضافة نموذج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>Apple graphics (Metal)</source>
      <translation>رسوميات Apple ‏(Metal)</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>Embedding</source>
      <translation>تضمين النصوص</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>NVIDIA graphics (CUDA)</source>
      <translation>رسوميات NVIDIA ‏(CUDA)</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>Neural Engine</source>
      <translation>Neural Engine</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>Probe</source>
      <translation>اختبار</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>being verified</source>
      <translation>يُتحقق منه</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>cancelled</source>
      <translation>أُلغي</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>done</source>
      <translation>تم</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>downloading</source>
      <translation>يُنزَّل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>embedding</source>
      <translation>تضمين</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>failed</source>
      <translation>فشل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>failed: {reason}</source>
      <translation>فشل: {reason}</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>graphics card (Vulkan)</source>
      <translation>بطاقة رسوميات (Vulkan)</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>has none</source>
      <translation>لا يوجد</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>in quarantine</source>
      <translation>في الحجر</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>installed model</source>
      <translation>نموذج مثبّت</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>job</source>
      <translation>مهمة</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>llama worker</source>
      <translation>عامل llama</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>loaded</source>
      <translation>محمّل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>not loaded</source>
      <translation>غير محمّل</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>not supported on this operating system</source>
      <translation>غير مدعوم على نظام التشغيل هذا</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>own model</source>
      <translation>نموذج خاص</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>passed</source>
      <comment>a self-check</comment>
      <translation>اجتازه</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>pinned by</source>
      <translation>مثبّت من</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>processor</source>
      <translation>المعالج</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>remote server</source>
      <translation>خادم بعيد</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>request</source>
      <translation>طلب</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>reranking</source>
      <translation>إعادة ترتيب</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>running</source>
      <translation>جارٍ</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>self-check</source>
      <translation>فحص ذاتي</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>text generation</source>
      <translation>توليد النصوص</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>the device here is too old or too small</source>
      <translation>الجهاز هنا قديم أو صغير أكثر مما ينبغي</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>the part of Synapse that computes there is not installed</source>
      <translation>الجزء من Synapse الذي يحسب هناك غير مثبّت</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>this machine has no such device</source>
      <translation>لا يوجد جهاز كهذا في هذا الحاسوب</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>unloading</source>
      <translation>يُفرَّغ</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>waited too long for a sign-in</source>
      <translation>انتظر تسجيل الدخول أكثر مما ينبغي</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>waiting</source>
      <comment>state of a job</comment>
      <translation>ينتظر</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>waits for a sign-in</source>
      <translation>ينتظر تسجيل الدخول</translation>
    </message>
    <message>
      <location filename="../app/synapse_app/words.py"></location>
      <source>when it is first loaded</source>
      <translation>عند أول تحميل</translation>
    </message>
  </context>
</TS>
